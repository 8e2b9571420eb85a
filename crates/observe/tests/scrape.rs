//! A metrics page fetched over a real connection, from servers that behave and from some that do not.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plumb_model::facts::WindowMean;
use plumb_model::fault::{Fault, HasFault};
use plumb_observe::{ObserveError, PageOf, request_times, scrape};

const PATIENT: Duration = Duration::from_secs(20);

/// Serves one connection in each of `turns`, then stops; returns the URL and the requests that came.
fn serve<F>(turns: Vec<F>) -> (String, JoinHandle<Vec<String>>)
where
    F: FnOnce(&mut TcpStream) + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let mut requests = Vec::new();
        for turn in turns {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            requests.push(String::from_utf8(request).unwrap());
            turn(&mut stream);
        }
        requests
    });
    (url, server)
}

fn answers(text: String) -> impl FnOnce(&mut TcpStream) {
    move |stream| stream.write_all(text.as_bytes()).unwrap()
}

/// The error and its causes.
fn chain(error: &ObserveError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[test]
fn two_pages_of_a_broker_give_the_mean_of_the_time_between_them() {
    let plain = |page: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len());
    let chunked = |page: &str| {
        let (first, second) = page.split_at(page.len() / 3);
        let (a, b) = (first.len(), second.len());
        format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{a:x}\r\n{first}\r\n{b:X}\r\n{second}\r\n0\r\n\r\n"
        )
    };
    let before = include_str!("fixtures/broker-before.txt");
    let after = include_str!("fixtures/broker-after.txt");
    let (url, server) = serve(vec![answers(plain(before)), answers(chunked(after))]);
    let before = scrape(&url, None, PATIENT, PageOf::Broker).unwrap();
    let after = scrape(&url, None, PATIENT, PageOf::Broker).unwrap();
    let times = request_times(&before, &after);

    // 500 requests with a sum of 600 ms, then 1500 with a sum of 1350 ms.
    let local = WindowMean { mean_ns: 750_000.0, low_ns: 250_000.0, high_ns: 1_250_000.0, samples: 1000 };
    assert_eq!(times.produce.local, Some(local));
    let remote = WindowMean { mean_ns: 0.0, low_ns: 0.0, high_ns: 500_000.0, samples: 1000 };
    assert_eq!(times.produce.remote, Some(remote), "none took half a millisecond on average");
    assert_eq!(times.fetch_consumer.total, None, "no fetch ended between the scrapes");
    assert!(times.elapsed_ns > 0);
    let requests = server.join().unwrap();
    assert!(requests[0].starts_with("GET /metrics HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].contains("host: 127.0.0.1:"), "{}", requests[0]);
    assert!(requests[0].contains("version=0.0.4"), "{}", requests[0]);
}

#[test]
fn a_server_that_keeps_the_connection_open_does_not_hold_up_the_page() {
    let (url, server) = serve(vec![|stream: &mut TcpStream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n").unwrap();
        // Waits for the other side to close.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }]);
    let started = Instant::now();
    assert_eq!(scrape(&url, None, PATIENT, PageOf::Broker).unwrap().page.series, 1);
    assert!(started.elapsed() < PATIENT);
    server.join().unwrap();
}

#[test]
fn a_server_that_drips_or_says_nothing_is_given_up_at_the_limit() {
    let limit = Duration::from_millis(60);
    let drips = ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n"];
    for (begin, drop) in drips.into_iter().zip(["", "X: y\r\n", "a 1\n"]) {
        let (url, server) = serve(vec![move |stream: &mut TcpStream| {
            let _ = stream.write_all(begin.as_bytes());
            // Ends when the other side has closed.
            while !drop.is_empty() && stream.write_all(drop.as_bytes()).is_ok() {
                thread::sleep(Duration::from_millis(2));
            }
            let _ = stream.read(&mut [0]);
        }]);
        let error = chain(&scrape(&url, None, limit, PageOf::Broker).unwrap_err());
        assert!(error.ends_with("within 60 ms"), "{drop:?}: {error}");
        server.join().unwrap();
    }
}

#[test]
fn a_page_that_is_not_metrics_and_a_port_that_nobody_has_are_told_apart() {
    let html = "HTTP/1.1 200 OK\r\n\r\n<html>hello</html>".to_owned();
    let (url, server) = serve(vec![answers(html)]);
    let error = chain(&scrape(&url, None, PATIENT, PageOf::Broker).unwrap_err());
    assert!(error.contains("is not a page of Prometheus metrics: line 1: expected a metric name"), "{error}");
    server.join().unwrap();
    let refused = scrape(&url, None, PATIENT, PageOf::Broker).unwrap_err();
    assert!(chain(&refused).contains("Connection refused"), "{refused}");
    let no_url = scrape("broker:9404/metrics", None, PATIENT, PageOf::Broker).unwrap_err();
    assert_eq!((refused.fault(), no_url.fault()), (Fault::Target, Fault::User));
}

#[test]
fn a_password_in_the_url_is_refused_and_not_repeated() {
    let error =
        chain(&scrape("http://me:hunter2@127.0.0.1:1/metrics", None, PATIENT, PageOf::Broker).unwrap_err());
    assert!(error.contains("without user and password") && !error.contains("hunter2"), "{error}");
}
