//! Memory that was freed, given back to the system.
//!
//! Compiling rules takes several times what they need afterwards, on threads that end; the allocator keeps
//! what they freed until somebody allocates much again, which an idle process never does.

/// Gives back what is free. Takes some milliseconds: not for the path of a request.
pub fn give_back() {
    #[expect(unsafe_code, reason = "the allocator offers it in no other way")]
    // SAFETY: the call takes no pointer and may come from any thread at any time; it gives pages back in
    // which no block is in use. If another allocator is the global one, it finds nothing to do.
    unsafe {
        libmimalloc_sys::mi_collect(true);
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_in_use_stays() {
        let kept: Vec<Vec<u8>> = (0..100_u8).map(|byte| vec![byte; 10_000]).collect();
        drop(vec![0_u8; 10_000_000]);
        super::give_back();
        assert!(kept.iter().zip(0..).all(|(block, byte)| block.iter().all(|found| *found == byte)));
    }
}
