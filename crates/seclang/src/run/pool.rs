//! Transactions that are over, kept for their memory: a request that is like the last ones of its
//! thread allocates nothing.

use std::cell::RefCell;

use super::transaction::Transaction;

/// Most transactions kept by one thread.
const MAX_POOLED: usize = 32;
/// Memory of larger transactions goes back: one great body must not be paid for ever after.
const MAX_POOLED_BYTES: usize = 1 << 20;

thread_local! {
    static POOL: RefCell<Vec<Transaction>> = const { RefCell::new(Vec::new()) };
}

/// A transaction that was over, or an empty one.
pub(super) fn take() -> Transaction {
    POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let bytes = self.capacity_bytes();
        // One that never held anything, such as those left below, has nothing to keep.
        if bytes == 0 || bytes > MAX_POOLED_BYTES {
            return;
        }
        // A thread that ends keeps nothing: then the error is right.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < MAX_POOLED {
                let mut over = std::mem::take(self);
                over.rest();
                pool.push(over);
            }
        });
    }
}
