//! One client's connection: takes requests in, sends answers out in the same order.
//!
//! A request has its effect as soon as it is read, while answers to earlier ones may still wait. So a delayed answer
//! costs the next request nothing but its own delay, and a long fetch keeps no later request from being seen.

use std::{sync::Arc, time::Instant};

use bytes::BytesMut;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};

use super::{
    api::{self, Answer, Reply},
    frame,
    state::Broker,
};

/// Answers that may wait on one connection before its requests are left in the socket.
const PENDING_MAX: usize = 1024;
/// The room to read into at first. Grows with what in fact arrives, never with what a length field says.
const READ_BYTES: usize = 64 * 1024;

pub(super) async fn serve(broker: Arc<Broker>, stream: TcpStream) {
    broker.core().stats.connections.opened += 1;
    broker.happened();
    // Fails only on a socket that is already gone.
    let _ = stream.set_nodelay(true);
    let (reader, writer) = stream.into_split();
    let (answers, pending) = mpsc::channel(PENDING_MAX);
    let cut_off = tokio::select! {
        cut_off = take_requests(&broker, reader, answers) => cut_off,
        cut_off = send_answers(&broker, writer, pending) => cut_off,
    };
    {
        let connections = &mut broker.core().stats.connections;
        connections.closed += 1;
        if cut_off.is_some() {
            connections.cut_off += 1;
            connections.last_cut_off = cut_off;
        }
    }
    broker.happened();
}

/// Ends with the reason for which the sink hangs up, or without one when the client did.
async fn take_requests(
    broker: &Arc<Broker>,
    mut reader: OwnedReadHalf,
    answers: mpsc::Sender<Answer>,
) -> Option<&'static str> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ_BYTES);
        match reader.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        let arrived = Instant::now();
        loop {
            let request = match frame::next_frame(&mut buffer, broker.options.frame_limit_bytes) {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(_) => return Some("a frame length out of bounds"),
            };
            let answer = match api::answer(broker, request, arrived) {
                Ok(answer) => answer,
                Err(error) => return Some(error.reason()),
            };
            broker.happened();
            let last = matches!(answer.reply, Reply::Close);
            if answers.send(answer).await.is_err() {
                return None;
            }
            if last {
                // The other half hangs up when it comes to this answer.
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn send_answers(
    broker: &Arc<Broker>,
    mut writer: OwnedWriteHalf,
    mut pending: mpsc::Receiver<Answer>,
) -> Option<&'static str> {
    while let Some(Answer { api, arrived, delay, reply, answered }) = pending.recv().await {
        let (bytes, ready) = match reply {
            Reply::Nothing => continue,
            Reply::Close => return None,
            Reply::Now(bytes) => (bytes, arrived),
            Reply::Later(reply) => match reply.await {
                Ok(bytes) => (bytes, Instant::now()),
                Err(error) => return Some(error.reason()),
            },
        };
        if !delay.is_zero() {
            broker.timer.until(ready + delay).await;
        }
        broker.hold(api).await;
        if let Some(answered) = answered {
            answered.now();
        }
        if writer.write_all(&bytes).await.is_err() {
            return None;
        }
    }
    None
}
