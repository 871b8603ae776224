//! Transactions that are over, kept for their memory: a request that is like the last ones of its
//! thread allocates nothing.

use std::cell::RefCell;

use super::transaction::Transaction;

/// Most transactions kept by one thread.
const MAX_SPARE: usize = 32;
/// Memory of larger transactions goes back: one great body must not be paid for ever after.
const MAX_SPARE_BYTES: usize = 1 << 20;

thread_local! {
    static SPARE: RefCell<Vec<Transaction>> = const { RefCell::new(Vec::new()) };
}

/// A transaction that was over, or an empty one.
pub(super) fn take() -> Transaction {
    SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let bytes = self.capacity_bytes();
        // One that never held anything, such as those left below, has nothing to keep.
        if bytes == 0 || bytes > MAX_SPARE_BYTES {
            return;
        }
        // A thread that ends keeps nothing: then the error is right.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MAX_SPARE {
                let mut over = std::mem::take(self);
                over.rest();
                spare.push(over);
            }
        });
    }
}
