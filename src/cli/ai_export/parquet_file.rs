//! Rows as an Apache Parquet file: a column for each member, lists and objects as JSON.

use std::io::Write;
use std::sync::Arc;

use jiff::Timestamp;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use model::AiLog;
use serde_json::Value;

/// Which value of a row a column has. If there is none, the column has null.
#[derive(Clone, Copy)]
enum ColumnRead {
    Text(fn(&AiLog) -> Option<&str>),
    /// A time in RFC 3339, as microseconds since the epoch.
    Time(fn(&AiLog) -> &str),
    Flag(fn(&AiLog) -> bool),
    /// Whole numbers; what does not fit is null.
    Whole(fn(&AiLog) -> Option<i64>),
    Number(fn(&AiLog) -> Option<f64>),
    /// Lists and objects, as text.
    Json(fn(&AiLog) -> Value),
}

fn whole(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// The columns, as rows in JSON have them.
#[rustfmt::skip]
const COLUMNS: &[(&str, ColumnRead)] = {
    use ColumnRead::{Flag, Json, Number, Text, Time, Whole};
    &[
        ("id", Text(|row| Some(&row.id))),
        ("created_at", Time(|row| &row.created_at)),
        ("account_id", Text(|row| Some(&row.account_id))),
        ("gateway_id", Text(|row| Some(&row.gateway_id))),
        ("event_id", Text(|row| row.event_id.as_deref())),
        ("provider", Text(|row| Some(&row.provider))),
        ("model", Text(|row| Some(&row.model))),
        ("model_type", Text(|row| Some(&row.model_type))),
        ("path", Text(|row| Some(&row.path))),
        ("status_code", Whole(|row| Some(row.status_code.into()))),
        ("success", Flag(|row| row.success)),
        ("cached", Flag(|row| row.cached)),
        ("duration", Number(|row| Some(row.duration))),
        ("tokens_in", Whole(|row| row.tokens_in.and_then(whole))),
        ("tokens_out", Whole(|row| row.tokens_out.and_then(whole))),
        ("tokens_cache_read", Whole(|row| row.tokens_cache_read.and_then(whole))),
        ("tokens_cache_write", Whole(|row| row.tokens_cache_write.and_then(whole))),
        ("tokens_reasoning", Whole(|row| row.tokens_reasoning.and_then(whole))),
        ("usage_source", Text(|row| Some(&row.usage_source))),
        ("cost", Number(|row| row.cost)),
        ("custom_cost", Flag(|row| row.custom_cost)),
        ("metadata", Json(|row| Value::Object(row.metadata.clone()))),
        ("step", Whole(|row| Some(row.step.into()))),
        ("route", Text(|row| row.route.as_deref())),
        ("request_type", Text(|row| Some(&row.request_type))),
        ("request_content_type", Text(|row| Some(&row.request_content_type))),
        ("response_content_type", Text(|row| Some(&row.response_content_type))),
        ("request_size", Whole(|row| whole(row.request_size))),
        ("response_size", Whole(|row| whole(row.response_size))),
        ("request_head_complete", Flag(|row| row.request_head_complete)),
        ("response_head_complete", Flag(|row| row.response_head_complete)),
        ("authentication", Flag(|row| row.authentication)),
        ("token_id", Text(|row| row.token_id.as_deref())),
        ("error", Text(|row| row.error.as_deref())),
        ("time_to_first_byte", Number(|row| row.time_to_first_byte)),
        ("gateway_duration", Number(|row| Some(row.gateway_duration))),
        ("ray_id", Text(|row| Some(&row.ray))),
        ("waf_score", Whole(|row| row.waf_score)),
        ("waf_rules", Json(|row| row.waf_rules.clone().into())),
        ("feedback", Whole(|row| row.feedback)),
        ("score", Number(|row| row.score)),
        // INVARIANT: findings are of texts and numbers.
        ("findings", Json(|row| serde_json::to_value(&row.findings).unwrap_or_default())),
    ]
};

impl ColumnRead {
    fn schema_type(self) -> &'static str {
        match self {
            Self::Text(_) | Self::Json(_) => "BYTE_ARRAY",
            Self::Time(_) | Self::Whole(_) => "INT64",
            Self::Flag(_) => "BOOLEAN",
            Self::Number(_) => "DOUBLE",
        }
    }

    fn annotation(self) -> &'static str {
        match self {
            Self::Text(_) => " (UTF8)",
            Self::Json(_) => " (JSON)",
            Self::Time(_) => " (TIMESTAMP(MICROS,true))",
            Self::Flag(_) | Self::Whole(_) | Self::Number(_) => "",
        }
    }
}

/// A Parquet file that is written row group by row group.
pub(super) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn new(out: W) -> Result<Self, ParquetError> {
        let line = |(name, read): &(&str, ColumnRead)| {
            format!("OPTIONAL {} {name}{};\n", read.schema_type(), read.annotation())
        };
        let columns: String = COLUMNS.iter().map(line).collect();
        let schema = parse_message_type(&format!("message ai_call {{\n{columns}}}"))?;
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer })
    }

    /// Writes rows as a group of their own.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn group(&mut self, rows: &[AiLog]) -> Result<(), ParquetError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (_, read) in COLUMNS {
            match *read {
                ColumnRead::Text(read) => column::<ByteArrayType, _>(
                    &mut group,
                    rows.iter().map(|row| read(row).map(ByteArray::from)),
                ),
                ColumnRead::Json(read) => {
                    let texts = rows.iter().map(|row| read(row).to_string().into_bytes());
                    column::<ByteArrayType, _>(&mut group, texts.map(|text| Some(ByteArray::from(text))))
                }
                ColumnRead::Time(read) => {
                    let moments = rows.iter().map(|row| read(row).parse::<Timestamp>().ok());
                    column::<Int64Type, _>(&mut group, moments.map(|at| at.map(Timestamp::as_microsecond)))
                }
                ColumnRead::Whole(read) => column::<Int64Type, _>(&mut group, rows.iter().map(read)),
                ColumnRead::Number(read) => column::<DoubleType, _>(&mut group, rows.iter().map(read)),
                ColumnRead::Flag(read) => {
                    column::<BoolType, _>(&mut group, rows.iter().map(|row| Some(read(row))))
                }
            }?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file: without its end it cannot be read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn finish(self) -> Result<(), ParquetError> {
        self.writer.close().map(drop)
    }
}

/// Writes the next column of a group.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("the file has fewer columns than its rows".to_owned()));
    };
    let (mut levels, mut present) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    writer.typed::<T>().write_batch(&present, Some(&levels), None)?;
    writer.close()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};
    use serde_json::json;

    use super::*;

    fn object(row: &Row) -> Value {
        let value = |field: &Field| match field {
            Field::Null => Value::Null,
            Field::Bool(flag) => (*flag).into(),
            Field::Long(number) | Field::TimestampMicros(number) => (*number).into(),
            Field::Double(number) => (*number).into(),
            Field::Str(text) => text.as_str().into(),
            Field::Bytes(bytes) => String::from_utf8(bytes.data().to_vec()).unwrap().into(),
            other => panic!("{other}"),
        };
        Value::Object(row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect())
    }

    #[test]
    fn a_file_says_of_rows_what_their_json_says() {
        let full = AiLog {
            id: "01".into(),
            created_at: "2026-11-01T00:00:00.500000Z".into(),
            model: "m-ü".into(),
            status_code: 200,
            success: true,
            tokens_in: Some(7),
            cost: Some(0.25),
            metadata: json!({"team": "a"}).as_object().cloned().unwrap(),
            waf_rules: vec![1, 2],
            error: Some("truncated".into()),
            ..AiLog::default()
        };
        let empty = AiLog { id: "02".into(), tokens_in: Some(u64::MAX), ..AiLog::default() };
        let mut out = Vec::new();
        let mut file = ParquetFile::new(&mut out).unwrap();
        file.group(&[full.clone(), empty]).unwrap();
        file.group(&[]).unwrap();
        file.group(std::slice::from_ref(&full)).unwrap();
        file.finish().unwrap();
        let reader = SerializedFileReader::new(Bytes::from(out)).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows: Vec<Value> = reader.get_row_iter(None).unwrap().map(|row| object(&row.unwrap())).collect();
        assert_eq!(rows.len(), 3);
        for (name, expected) in [
            ("id", json!("01")),
            ("model", json!("m-ü")),
            ("status_code", json!(200)),
            ("success", json!(true)),
            ("tokens_in", json!(7)),
            ("tokens_out", Value::Null),
            ("cost", json!(0.25)),
            ("metadata", json!("{\"team\":\"a\"}")),
            ("waf_rules", json!("[1,2]")),
            ("error", json!("truncated")),
        ] {
            assert_eq!(rows[0][name], expected, "{name}");
        }
        assert_eq!(rows[0]["created_at"], json!(1_793_491_200_500_000_i64));
        assert_eq!((&rows[1]["created_at"], &rows[1]["tokens_in"]), (&Value::Null, &Value::Null));
        assert_eq!(rows[2], rows[0]);
    }

    #[test]
    fn every_member_of_a_row_is_a_column() {
        let full =
            AiLog { route: Some(String::new()), feedback: Some(1), score: Some(1.0), ..AiLog::default() };
        let members = serde_json::to_value(full).unwrap();
        let members: Vec<&str> = members.as_object().unwrap().keys().map(String::as_str).collect();
        let mut columns: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        columns.sort_unstable();
        assert_eq!(columns, members);
    }
}
