//! Small writes are gathered, and go out together with the long one that follows: the head of a response and the beginning of
//! its body are one system call.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are gathered before they are sent.
const GATHERED_BYTES: usize = 4 << 10;
/// Most slices of a write that go out at once.
const MAX_SLICES: usize = 16;

/// A transport whose writes are gathered until they are flushed or many.
pub(super) struct GatheringWriter<T> {
    io: T,
    /// What was written and is not sent.
    gathered: BytesMut,
}

impl<T> GatheringWriter<T> {
    pub(super) fn new(io: T) -> Self {
        Self { io, gathered: BytesMut::new() }
    }

    /// Removes the gathered bytes among the first `written` that were sent. Returns how many of these were not gathered.
    fn remove_sent(&mut self, written: usize) -> usize {
        let of_gathered = written.min(self.gathered.len());
        self.gathered.advance(of_gathered);
        written - of_gathered
    }
}

impl<T: AsyncWrite + Unpin> GatheringWriter<T> {
    fn poll_gathered(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.gathered.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.gathered))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.gathered.advance(written.min(self.gathered.len())),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for GatheringWriter<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let bytes = parts.iter().map(|part| part.len()).sum();
        if this.gathered.len() + bytes <= GATHERED_BYTES {
            parts.iter().for_each(|part| this.gathered.extend_from_slice(part));
            return Poll::Ready(Ok(bytes));
        }
        if !this.io.is_write_vectored() {
            ready!(this.poll_gathered(cx))?;
        }
        while !this.gathered.is_empty() {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let all = std::iter::once(IoSlice::new(&this.gathered)).chain(parts.iter().copied());
            slices.iter_mut().zip(all).for_each(|(slice, part)| *slice = part);
            let written = ready!(Pin::new(&mut this.io).poll_write_vectored(cx, &slices))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            match this.remove_sent(written) {
                // To return 0 would say that the connection takes no more.
                0 => {}
                taken => return Poll::Ready(Ok(taken)),
            }
        }
        Pin::new(&mut this.io).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_gathered(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_gathered(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for GatheringWriter<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A transport that takes few bytes: at most the next number of `takes` with each call, and none with each third call.
    struct Slow {
        written: Vec<u8>,
        takes: Vec<usize>,
        calls: usize,
        is_vectored: bool,
    }

    impl Slow {
        fn take(&mut self, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
            self.calls += 1;
            if self.calls.is_multiple_of(3) {
                return Poll::Pending;
            }
            let most = self.takes[self.calls % self.takes.len()];
            let before = self.written.len();
            self.written.extend(parts.iter().flat_map(|part| part.iter().copied()).take(most));
            Poll::Ready(Ok(self.written.len() - before))
        }
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.take(&[IoSlice::new(bytes)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            parts: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            // As those do that know one part only.
            let first = parts.iter().position(|part| !part.is_empty()).unwrap_or(0);
            let parts = if self.is_vectored { parts } else { &parts[first..=first] };
            self.take(parts)
        }

        fn is_write_vectored(&self) -> bool {
            self.is_vectored
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn writer(takes: &[usize], is_vectored: bool) -> GatheringWriter<Slow> {
        GatheringWriter::new(Slow { written: Vec::new(), takes: takes.to_vec(), calls: 0, is_vectored })
    }

    /// Writes all of some parts, flushes, and returns what came out.
    fn written(mut writer: GatheringWriter<Slow>, writes: &[Vec<&[u8]>]) -> GatheringWriter<Slow> {
        let mut cx = Context::from_waker(Waker::noop());
        for parts in writes {
            let mut done = 0;
            let all: Vec<u8> = parts.concat();
            while done < all.len() {
                let mut skipped = done;
                let mut rest = Vec::new();
                for part in parts {
                    let skip = skipped.min(part.len());
                    skipped -= skip;
                    rest.push(IoSlice::new(&part[skip..]));
                }
                if let Poll::Ready(outcome) = Pin::new(&mut writer).poll_write_vectored(&mut cx, &rest) {
                    let taken = outcome.unwrap();
                    assert!(taken > 0, "nothing is the end");
                    done += taken;
                }
            }
        }
        while Pin::new(&mut writer).poll_flush(&mut cx).is_pending() {}
        writer
    }

    #[test]
    fn no_byte_is_lost_or_out_of_order_however_little_is_taken() {
        let long: Vec<u8> = (0..20_000_u32).map(|n| (n % 251) as u8).collect();
        let mut ran = 0;
        for is_vectored in [true, false] {
            for takes in [&[1_usize, 7, 300][..], &[4_096], &[100_000], &[3, 5_000]] {
                for sizes in [
                    &[300, 16_000][..],
                    &[300],
                    &[4_096, 1],
                    &[4_097],
                    &[4_000, 96, 1, 20_000],
                    &[0, 10, 0, 20_000, 5],
                ] {
                    let writes: Vec<Vec<&[u8]>> = sizes
                        .iter()
                        .map(|size| {
                            let (one, other) = long[..*size].split_at(size / 3);
                            vec![one, other]
                        })
                        .collect();
                    let expected: Vec<u8> = writes.iter().flatten().copied().flatten().copied().collect();
                    let done = written(writer(takes, is_vectored), &writes);
                    assert_eq!(done.io.written, expected, "{is_vectored} {takes:?} {sizes:?}");
                    assert!(done.gathered.is_empty());
                    ran += 1;
                }
            }
        }
        assert_eq!(ran, 48);
    }

    #[test]
    fn a_head_and_its_body_are_one_call() {
        let (head, body) = (vec![b'h'; 300], vec![b'b'; 16_000]);
        for (is_vectored, expected) in [(true, 1), (false, 2)] {
            let done = written(writer(&[100_000], is_vectored), &[vec![&head], vec![&body]]);
            assert_eq!((done.io.calls, done.io.written.len()), (expected, 16_300));
        }
        // So are small parts.
        let done = written(writer(&[100_000], true), &[vec![&head], vec![&head], vec![b"x"]]);
        assert_eq!(done.io.calls, 1);
    }
}
