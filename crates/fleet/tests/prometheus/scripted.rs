//! A metrics server that does what it is told, and notes what it was asked.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// A reaction to a question.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Status, more headers, body.
    Says(u16, &'static str, String),
    /// A body that is announced longer than it is.
    CutShort(String),
    /// Nothing at all.
    Silence,
}

/// Answers one question after the other with the answers in turn, the last one again and again; says what it was asked.
pub(crate) fn server(answers: Vec<Answer>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, questions) = channel();
    // It ends with the test's process; nobody waits for it.
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for number in 0.. {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = asked.send(question(&mut stream));
            match &answers[number.min(answers.len() - 1)] {
                Answer::Says(status, headers, body) => {
                    let _ = write!(
                        stream,
                        "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
                        body.len()
                    );
                }
                Answer::CutShort(body) => {
                    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{body}");
                }
                Answer::Silence => kept.push(stream),
            }
        }
    });
    (url, questions)
}

/// Head and body of a request.
pub(crate) fn question(stream: &mut impl Read) -> String {
    let mut text = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let read = stream.read(&mut bytes).unwrap_or(0);
        text.extend_from_slice(&bytes[..read]);
        let all = String::from_utf8_lossy(&text);
        if let Some((head, body)) = all.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if read == 0 || body.len() >= length.unwrap_or(0) {
                return all.into_owned();
            }
        } else if read == 0 {
            return all.into_owned();
        }
    }
}
