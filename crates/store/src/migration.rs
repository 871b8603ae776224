//! Schemas by version. `PRAGMA user_version` counts the steps that a file has taken.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::StoreError;

/// One step from a version to the next.
pub(crate) enum Migration {
    Sql(&'static str),
    /// A step that SQL alone cannot take.
    Code(fn(&Transaction<'_>) -> Result<(), StoreError>),
    /// Resources have fields or kinds that a version before does not know, and would lose with its next write: that version
    /// then refuses the file. What is new.
    Format(#[expect(dead_code, reason = "for who reads the steps")] &'static str),
}

/// Takes the steps that a file has not taken yet, all or none.
///
/// # Errors
/// [`StoreError::Failed`] if the file is of a later version, or a step fails; the file is then unchanged.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[Migration]) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let taken = version as usize;
    if taken > migrations.len() {
        return Err(StoreError::Failed(format!(
            "it was written by a later version (schema {version}, this one knows {}); run that version",
            migrations.len()
        )));
    }
    for migration in migrations.iter().skip(taken) {
        match migration {
            Migration::Sql(sql) => transaction.execute_batch(sql)?,
            Migration::Code(step) => step(&transaction)?,
            Migration::Format(_) => {}
        }
    }
    if taken < migrations.len() {
        transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
    }
    transaction.commit()?;
    Ok(())
}
