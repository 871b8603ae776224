//! Queries over UDP, many with one call of the system.

use std::io::{IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use dns::answer::UDP_BYTES;
use dns::response_rate::{OverRate, ResponseRate};
use dns::{Carrier, Transport, answer};
use ipnet::IpNet;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg, sendmsg,
};

use super::NameContext;
use super::counts::{AnswerCounts, AnsweredQuery};
use super::sockets::close_for_queries;

/// Most queries that are taken at once.
const BATCH: usize = 32;
/// Longest query that is read whole; what is longer is malformed.
const QUERY_BYTES: usize = 1_500;

/// Answers what comes to a socket until the process ends.
pub(super) fn serve(socket: &UdpSocket, context: &NameContext) {
    let is_unspecified = socket.local_addr().is_ok_and(|address| address.ip().is_unspecified());
    let settings = context.snapshots.load().names.settings.clone();
    let mut server = UdpServer {
        socket,
        context,
        rate: ResponseRate::new(settings.rate_limit),
        exempt: settings.rate_limit_exempt,
        counts: context.counts("udp"),
        queries: vec![[0; QUERY_BYTES]; BATCH],
        answers: vec![[0; UDP_BYTES]; BATCH],
        is_unspecified,
    };
    let control = is_unspecified.then(|| nix::cmsg_space!(libc::in6_pktinfo));
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, control);
    let mut replies = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, None);
    let mut is_closed = false;
    loop {
        let mut received = [const { None }; BATCH];
        let count = server.receive(&mut headers, &mut received);
        if count > 0 {
            server.answer(received.get(..count).unwrap_or(&[]), &mut replies);
        } else if is_closed {
            return;
        }
        if !is_closed && context.is_ending.load(Ordering::Relaxed) {
            // Those that came before are answered.
            close_for_queries(socket);
            is_closed = true;
        }
    }
}

/// A query that came, as far as the system tells.
#[derive(Clone)]
struct Received {
    bytes: usize,
    from: SockaddrStorage,
    /// Where it came to, if the socket has more than one address.
    to: Option<ControlMessageOwned>,
}

struct UdpServer<'s> {
    socket: &'s UdpSocket,
    context: &'s NameContext,
    rate: ResponseRate,
    exempt: Vec<IpNet>,
    counts: AnswerCounts,
    queries: Vec<[u8; QUERY_BYTES]>,
    answers: Vec<[u8; UDP_BYTES]>,
    is_unspecified: bool,
}

impl UdpServer<'_> {
    /// Waits for queries; how many came.
    fn receive(
        &mut self,
        headers: &mut MultiHeaders<SockaddrStorage>,
        received: &mut [Option<Received>; BATCH],
    ) -> usize {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.queries.iter_mut().map(|query| [IoSliceMut::new(query)]).collect();
        let flags = MsgFlags::MSG_WAITFORONE;
        // An error is the end of the wait, or about an answer before: both are no matter.
        let Ok(found) = recvmmsg(self.socket.as_raw_fd(), headers, slices.iter_mut(), flags, None) else {
            return 0;
        };
        let mut count = 0;
        for (slot, message) in received.iter_mut().zip(found) {
            count += 1;
            let to = message.cmsgs().ok().and_then(|mut messages| messages.next());
            *slot = message.address.map(|from| Received { bytes: message.bytes, from, to });
        }
        count
    }

    fn answer(&mut self, received: &[Option<Received>], replies: &mut MultiHeaders<SockaddrStorage>) {
        let snapshot = self.context.snapshots.load();
        let now = self.context.now();
        let mut lengths = [0_usize; BATCH];
        for (((received, query), buffer), length) in
            received.iter().zip(&self.queries).zip(&mut self.answers).zip(&mut lengths)
        {
            let Some((received, client)) = received.as_ref().and_then(|one| Some((one, ip(&one.from)?)))
            else {
                continue;
            };
            let is_exempt = self.exempt.iter().any(|network| network.contains(&client.ip()));
            let over = if is_exempt { None } else { self.rate.count(client.ip(), now) };
            // Nobody asks from port 0: the answer could go nowhere.
            if client.port() == 0 || over == Some(OverRate::Drop) && !has_cookie(query, received.bytes) {
                continue;
            }
            let transport = Transport {
                carrier: if over.is_some() { Carrier::UdpPastLimit } else { Carrier::Udp },
                cookies: &self.context.cookies,
                client: client.ip(),
                now,
            };
            let query = query.get(..received.bytes).unwrap_or(&[]);
            let answered = answer(&snapshot.names.catalog, query, &transport, buffer);
            self.context.notified(&answered);
            if answered.bytes > 0 {
                let one = AnsweredQuery { query, client: client.ip(), answered: &answered };
                self.counts.count(one, &snapshot);
            }
            *length = answered.bytes;
        }
        self.send(received, &lengths, replies);
    }

    fn send(
        &self,
        received: &[Option<Received>],
        lengths: &[usize; BATCH],
        replies: &mut MultiHeaders<SockaddrStorage>,
    ) {
        let ready = received.iter().zip(&self.answers).zip(lengths).filter(|(_, length)| **length > 0);
        let ready = ready
            .filter_map(|((received, answer), length)| Some((received.as_ref()?, answer.get(..*length)?)));
        if self.is_unspecified {
            for (received, answer) in ready {
                self.send_from(received, answer);
            }
            return;
        }
        let (slices, addresses): (Vec<[IoSlice<'_>; 1]>, Vec<Option<SockaddrStorage>>) =
            ready.map(|(received, answer)| ([IoSlice::new(answer)], Some(received.from))).unzip();
        if !slices.is_empty() {
            // What the system cannot send now its client asks for again. What it did not take with one call is sent by
            // another.
            let mut sent = 0;
            while sent < slices.len() {
                let (slices, addresses) =
                    (slices.get(sent..).unwrap_or(&[]), addresses.get(sent..).unwrap_or(&[]));
                let outcome = sendmmsg(
                    self.socket.as_raw_fd(),
                    replies,
                    slices.iter(),
                    addresses,
                    [],
                    MsgFlags::empty(),
                );
                sent += outcome.map_or(1, |results| results.count().max(1));
            }
        }
    }

    /// Sends an answer from the address that its query came to.
    fn send_from(&self, received: &Received, answer: &[u8]) {
        let slices = [IoSlice::new(answer)];
        let socket = self.socket.as_raw_fd();
        let from = Some(&received.from);
        let _ = match &received.to {
            Some(ControlMessageOwned::Ipv4PacketInfo(to)) => {
                let mut info = *to;
                info.ipi_spec_dst = info.ipi_addr;
                info.ipi_ifindex = 0;
                sendmsg(socket, &slices, &[ControlMessage::Ipv4PacketInfo(&info)], MsgFlags::empty(), from)
            }
            Some(ControlMessageOwned::Ipv6PacketInfo(to)) => {
                sendmsg(socket, &slices, &[ControlMessage::Ipv6PacketInfo(to)], MsgFlags::empty(), from)
            }
            _ => sendmsg(socket, &slices, &[], MsgFlags::empty(), from),
        };
    }
}

/// Whether a query may bring a cookie: it is longer than one without.
fn has_cookie(query: &[u8], bytes: usize) -> bool {
    query.get(..bytes).is_some_and(|query| query.windows(4).any(|option| option == [0, 10, 0, 24]))
}

fn ip(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(SocketAddr::new(IpAddr::V4(v4.ip()), v4.port()));
    }
    address.as_sockaddr_in6().map(|v6| SocketAddr::new(IpAddr::V6(v6.ip()), v6.port()))
}
