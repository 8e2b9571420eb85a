//! A metrics server that fails in every way.

use super::scripted::{Answer, server};
use super::{START_S, left, request, source, table};
use plumb_fleet::FleetRequest;
use std::net::TcpListener;

/// An answer with hourly samples of two servers within the window.
fn whole(more: &str) -> String {
    let samples = |value: i64| {
        let samples: Vec<String> =
            (0..96).map(|hour| format!("[{},\"{}\"]", START_S + hour * 3600, value * hour)).collect();
        samples.join(",")
    };
    format!(
        "{{\"status\":\"success\"{more},\"data\":{{\"resultType\":\"matrix\",\"result\":[\
         {{\"metric\":{{\"instance\":\"a\"}},\"values\":[{}]}},{{\"metric\":{{\"instance\":\"b\"}},\"values\":[{}]}}]}}}}",
        samples(1),
        samples(2)
    )
}

fn ok(more: &str) -> Answer {
    Answer::Says(200, "", whole(more))
}

fn error_of(answers: Vec<Answer>) -> String {
    let (url, _questions) = server(answers);
    table(&request(&url, "drops_total")).unwrap_err().to_string()
}

#[test]
fn samples_are_taken_once_though_every_answer_repeats_all_of_them() {
    let (url, questions) = server(vec![ok("")]);
    let found = table(&request(&url, "drops_total")).unwrap();
    assert_eq!(
        found.servers[0].metric.iter().map(|value| value.unwrap().round()).collect::<Vec<_>>(),
        [24.0; 4]
    );
    assert_eq!(found.servers[1].metric[1], Some(48.0));
    assert!(found.exclusions.is_empty(), "{:?}", found.exclusions);
    let first = questions.recv().unwrap();
    assert!(first.starts_with("POST /api/v1/query HTTP/1.1\r\n"), "{first}");
    assert!(
        first.contains("query=drops_total%5B3600000ms%5D&time=1772326799.999&partial_response=false"),
        "{first}"
    );
}

#[test]
fn a_fault_that_passes_is_asked_again() {
    let away = Answer::Says(503, "", "not ready".to_owned());
    let (url, questions) = server(vec![away, Answer::CutShort(whole("")[..200].to_owned()), ok("")]);
    assert_eq!(table(&request(&url, "drops_total")).unwrap().servers.len(), 2);
    let [first, second, third] = [0; 3].map(|_| questions.recv().unwrap());
    assert!(first == second && second == third);
}

#[test]
fn an_answer_that_is_always_cut_short_is_an_error() {
    let cut = error_of(vec![Answer::CutShort(whole("")[..300].to_owned())]);
    assert!(cut.starts_with("the metrics server at http://127.0.0.1:"), "{cut}");
    assert!(cut.contains(" broke off in the middle of its answer: "), "{cut}");
    let half = error_of(vec![Answer::Says(200, "", whole("")[..300].to_owned())]);
    assert_eq!(half, "the answer ends after 300 bytes, in the middle");
}

#[test]
fn a_server_that_does_not_answer_in_time_is_an_error() {
    let (url, _questions) = server(vec![Answer::Silence]);
    let mut asked = request(&url, "drops_total");
    source(&mut asked).timeout_s = 1;
    let error = table(&asked).unwrap_err().to_string();
    assert!(error.ends_with("did not answer in 1 s"), "{error}");
}

#[test]
fn what_is_too_much_for_the_server_is_asked_for_in_shorter_pieces() {
    let too_many = "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"query processing would load too many samples into memory\"}";
    let too_long = "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"query timed out in expression evaluation\"}";
    for (status, answer) in [(422, too_many), (503, too_long)] {
        let (url, questions) = server(vec![Answer::Says(status, "", answer.to_owned()), ok("")]);
        assert_eq!(table(&request(&url, "drops_total")).unwrap().servers.len(), 2);
        assert!(questions.recv().unwrap().contains("%5B3600000ms%5D"));
        assert!(questions.recv().unwrap().contains("%5B900000ms%5D"));
    }
}

#[test]
fn warnings_are_an_error_or_are_counted_as_asked() {
    let warned = || vec![ok(",\"warnings\":[\"store b is away\"]")];
    let error = error_of(warned());
    assert_eq!(error, "the metrics server warns that its answer may not be whole: store b is away");
    let partial = error_of(vec![ok(",\"isPartial\":true")]);
    assert!(partial.ends_with("the answer is partial"), "{partial}");
    let (url, _questions) = server(warned());
    let mut asked = request(&url, "drops_total");
    source(&mut asked).accept_warnings = true;
    let (count, example) = left(&table(&asked).unwrap(), "warnings").unwrap();
    assert!(count > 1 && example == "store b is away", "{count} {example}");
}

#[test]
fn refusals_redirections_and_other_services_are_named() {
    let json = |status, text: &str| vec![Answer::Says(status, "", text.to_owned())];
    let tenant = error_of(json(401, "no org id"));
    assert!(tenant.contains("answers with status 401: no org id"), "{tenant}");
    let moved = error_of(vec![Answer::Says(302, "Location: http://127.0.0.1:1/login\r\n", String::new())]);
    assert!(moved.contains("answers with status 302"), "{moved}");
    let page = error_of(json(200, "<html>Grafana</html>"));
    assert!(
        page.contains("expected the JSON of a Prometheus server, got \"<html>Grafana</html>\""),
        "{page}"
    );
    let bad = error_of(json(400, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"unknown\"}"));
    assert_eq!(bad, "the metrics server refuses (bad_data): unknown");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = table(&request(&format!("http://{closed}"), "drops_total")).unwrap_err().to_string();
    assert!(nobody.starts_with("cannot reach the metrics server at http://127.0.0.1:"), "{nobody}");
}

#[test]
fn series_without_a_server_are_counted_or_too_many() {
    let (url, _questions) = server(vec![ok("")]);
    let mut asked = request(&url, "drops_total");
    source(&mut asked).server_label = "host".to_owned();
    let error = table(&asked).unwrap_err().to_string();
    assert!(error.contains("no series of \"drops_total\" in the window"), "{error}");
}

#[test]
fn headers_and_secrets_of_the_configuration_are_sent() {
    let (url, questions) = server(vec![ok("")]);
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("http.yml");
    std::fs::write(directory.path().join("token"), "open-sesame\n").unwrap();
    std::fs::write(
        &config,
        "authorization: {credentials_file: token}\nhttp_headers: {X-Scope-OrgID: {values: [tenant-1]}}\n",
    )
    .unwrap();
    let mut asked: FleetRequest = request(&url, "drops_total");
    source(&mut asked).config = Some(config);
    table(&asked).unwrap();
    let sent = questions.recv().unwrap().to_lowercase();
    assert!(sent.contains("authorization: bearer open-sesame\r\n"), "{sent}");
    assert!(sent.contains("x-scope-orgid: tenant-1\r\n"), "{sent}");
}

#[test]
fn a_window_without_an_end_is_an_error() {
    let mut asked = request("http://127.0.0.1:1", "drops_total");
    asked.window.until = None;
    let error = table(&asked).unwrap_err().to_string();
    assert!(error.contains("from when until when"), "{error}");
    asked.window.until = asked.window.from;
    assert!(table(&asked).unwrap_err().to_string().contains("has nothing in it"));
}
