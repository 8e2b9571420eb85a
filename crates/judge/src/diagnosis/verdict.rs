//! Puts causes into order, says how the diagnosis came out, what to collect, and the one paragraph that a reader needs.

use super::bounds::used;
use super::case::Case;
use super::cause::{CauseRow, Claim};
use super::measure::{count, known, ratio};
use super::stages::Stage;
use plumb_model::diagnosis::{Cause, DiagnosisVerdict, PathBound};
use plumb_model::figure::{messages_per_s, percent, time};
use plumb_model::finding::Confidence;
use plumb_model::observed::{ClientKind, ClientWindow, ThreadClass, Unseen};
use plumb_model::prose::{list, quoted};
use std::cmp::Reverse;

/// A limit of which this share is used is near (ours).
const NEAR: f64 = 0.9;
/// Refused requests over Produce requests from which a path is not healthy (ours).
const REFUSED_MIN: f64 = 0.01;
/// A consumer that is this far behind is no part of a healthy path until its lag is known not to grow (ours).
const BEHIND_S: f64 = 2.0;

/// The causes that were found: those that evidence supports first, a root before its consequences, then by the share that each
/// explains. A cause is a consequence only of one that is at least as sure.
pub(super) fn ranked(claims: Vec<(&CauseRow, Claim)>) -> Vec<Cause> {
    let roots = |cause: &CauseRow, claim: &Claim| -> Vec<&str> {
        let found = claims.iter().filter(|(root, of_root)| {
            cause.consequence_of.contains(&root.row.id) && of_root.confidence >= claim.confidence
        });
        found.map(|(root, _)| root.row.id).collect()
    };
    let roots: Vec<Vec<&str>> = claims.iter().map(|(cause, claim)| roots(cause, claim)).collect();
    let ids: Vec<&str> = claims.iter().map(|(cause, _)| cause.row.id).collect();
    let mut causes: Vec<(usize, Cause)> = Vec::new();
    for (place, (cause, claim)) in claims.iter().enumerate() {
        let consequence_of = roots[place].iter().map(|id| (*id).to_owned()).collect();
        causes
            .push((depth(place, &roots, &ids, claims.len()), claim.clone().complete(cause, consequence_of)));
    }
    causes.sort_by(|(a_depth, a), (b_depth, b)| {
        let key = |depth: usize, cause: &Cause| (Reverse(cause.finding.confidence), depth);
        let by_share = |cause: &Cause| cause.share_of_gap.unwrap_or(0.0);
        key(*a_depth, a).cmp(&key(*b_depth, b)).then(by_share(b).total_cmp(&by_share(a)))
    });
    causes.into_iter().map(|(_, cause)| cause).collect()
}

/// Steps from a root; `steps` bounds the walk.
fn depth(place: usize, roots: &[Vec<&str>], ids: &[&str], steps: usize) -> usize {
    if steps == 0 {
        return 0;
    }
    let places = roots[place].iter().filter_map(|id| ids.iter().position(|found| found == id));
    places.map(|root| 1 + depth(root, roots, ids, steps - 1)).max().unwrap_or(0)
}

/// How the diagnosis came out.
pub(super) fn verdict(case: &Case, findings: &[Cause], bounds: &[PathBound]) -> DiagnosisVerdict {
    let supported = findings.iter().any(|cause| cause.finding.confidence >= Some(Confidence::Supported));
    // Busy processors hold nobody back whom nothing keeps waiting.
    let near = bounds
        .iter()
        .any(|bound| !["cpu", "cpu_per_byte"].contains(&bound.name.as_str()) && used(bound) >= NEAR);
    // Brokers do not see what waits before they count it: one request that is held back for seconds, with all that comes behind it on its
    // connection, hardly moves their means.
    let seen = case.stages.rtt_ns.is_some() || case.acknowledge_ns().is_some();
    match () {
        () if supported => DiagnosisVerdict::Bound,
        () if seen && !near && !case.slow() && nothing_is_doubtful(case) => DiagnosisVerdict::Healthy,
        () => DiagnosisVerdict::NotEnoughEvidence,
    }
}

/// Whether nothing that was looked at is missing or incomplete: a client that tells nothing may be one that stands still, and partitions that lack
/// replicas are no healthy path however fast it is.
fn nothing_is_doubtful(case: &Case) -> bool {
    let silent = case.path.unseen.iter().any(Unseen::is_client_statistics);
    let short = lacking_replicas(case) > 0.0;
    let ended = case.broker_processes().any(|process| process.ended);
    // While a group rebalances its consumers read nothing, however short each of the broker's answers is.
    let rebalances = case.consumers_most(|client| count(client.rebalances)).is_some_and(|times| times >= 2.0);
    let refused = refused_per_s(case).is_some();
    let in_part = covered_in_part(case).is_some();
    !silent
        && !short
        && !ended
        && !refused
        && !in_part
        && !rebalances
        && !is_behind(case)
        && !case.fetches_wait()
}

/// Whether a consumer is seconds behind of which nobody knows whether they grow.
fn is_behind(case: &Case) -> bool {
    case.consumers().any(|client| {
        client.lag_growth_per_s.is_none()
            && ratio(client.lag, client.messages_per_s).is_some_and(|seconds| seconds >= BEHIND_S)
    })
}

/// Partitions that lack replicas in sync.
fn lacking_replicas(case: &Case) -> f64 {
    case.broker_sum(|broker| broker.under_replicated).unwrap_or(0.0)
}

/// What to collect where there is not enough evidence: what would tell more first.
pub(super) fn collect(case: &Case, verdict: DiagnosisVerdict) -> Vec<String> {
    if verdict != DiagnosisVerdict::NotEnoughEvidence {
        return Vec::new();
    }
    let path = case.path;
    let untold = path.unseen.iter().any(Unseen::is_broker_metrics);
    let wanted = [
        (
            path.brokers.is_empty() && !untold,
            "the brokers' metrics (--broker-metrics): the time of a request by stage",
        ),
        (
            path.brokers.is_empty() && untold,
            "the brokers' metrics, which could not be read (the reason is under `Not seen`): the time of a request by stage",
        ),
        (
            !path.brokers.is_empty() && case.stages.broker_ns.is_none(),
            "the times of Produce requests: watch while somebody sends, or send a small load with --probe-load",
        ),
        (
            case.producers().next().is_none(),
            "what a producer waits for, in its queue and for the round trip: --probe-load sends a small load of its own on a topic of its own",
        ),
        (
            case.producers().next().is_some()
                && case.linger_ns().is_none()
                && case.any_matters(&[Stage::ClientQueue]),
            "the producers' linger.ms and batch.size, which their statistics do not tell (--client-properties FILE): look whether the wait in their queue is as long as linger.ms",
        ),
        (
            case.consumers().next().is_none()
                && !case.matters(Stage::Fetch)
                && case.stages.sum_ns().is_none(),
            "what a consumer waits for: its lag, and how long it waits for its application, by its own metrics",
        ),
        (
            case.broker_processes().next().is_none(),
            "the broker's process on its own host (--pid): what its threads wait for, its control group and its JVM",
        ),
        (
            path.processes.iter().all(|process| process.profile.is_none()),
            "a CPU profile of the broker: the share of TLS, compression, copies and locks",
        ),
        (
            path.kernel.is_none() && case.any_matters(&[Stage::Local, Stage::Remote]),
            "the kernel's trace points: times of fsync, of the journal and of the device",
        ),
        (path.settings.brokers.is_empty(), "the cluster's settings: threads, quotas, compression of topics"),
        (path.host_window.is_none(), "the counters of the broker's host: processors, disks, TCP"),
    ];
    wanted.into_iter().filter(|(missing, _)| *missing).map(|(_, what)| what.to_owned()).collect()
}

/// One paragraph: where the time goes, what bounds it, how near the limit is, what to do first.
pub(super) fn summary(
    case: &Case,
    verdict: DiagnosisVerdict,
    findings: &[Cause],
    bounds: &[PathBound],
    collect: &[String],
) -> String {
    let mut sentences: Vec<String> = broken_off(case);
    match verdict {
        DiagnosisVerdict::Bound => {
            sentences.extend(waits(case));
            sentences.extend(causes(findings));
            sentences.extend(nearest(bounds));
            let first = findings.first().and_then(|cause| cause.finding.advice.first());
            sentences.extend(first.map(|advice| format!("First: {}", lower_first(advice))));
        }
        DiagnosisVerdict::Healthy => {
            sentences.push("Nothing that was seen holds this path back at this load.".to_owned());
            sentences.extend(load(case));
            sentences.extend(waits(case));
            sentences.extend(nearest(bounds));
        }
        DiagnosisVerdict::NotEnoughEvidence => {
            sentences.extend(waits(case));
            sentences.push(match case.slow() {
                true => "It is slow, and what was seen does not show why.".to_owned(),
                false => "What was seen does not show what bounds the path.".to_owned(),
            });
            let suspects: Vec<String> =
                findings.iter().take(3).map(|cause| format!("`{}`", cause.finding.id)).collect();
            if !suspects.is_empty() {
                sentences.push(format!("Suspected: {}.", list(&suspects)));
            }
            sentences.extend(nearest(bounds));
            sentences.extend(collect.first().map(|what| format!("First: collect {what}.")));
        }
    }
    sentences.join(" ")
}

/// A producer's own wait over the mean of all from which that mean says nothing of it (ours).
const APART: f64 = 3.0;

/// What ended, began anew, lacks replicas or differs from the others, so that the means are not of the whole or not of each.
fn broken_off(case: &Case) -> Vec<String> {
    let ended = case.path.processes.iter().filter(|process| process.ended).map(|process| {
        let of_broker = if process.is_broker { "The broker's process" } else { "Process" };
        format!("{of_broker} {} ended within the window.", process.pid)
    });
    let restarted = case.brokers().iter().filter(|broker| broker.restarted).map(|broker| {
        let name = broker.id.map_or_else(|| broker.source.clone(), |id| id.to_string());
        format!("Broker {name} started anew within the window: its figures are of the time since.")
    });
    let lacking = Some(lacking_replicas(case)).filter(|lacking| *lacking >= 1.0);
    let short = lacking.map(|lacking| {
        let partitions = plumb_model::figure::counted(lacking as u64, "partition");
        format!("Of {partitions} not all replicas are in sync.")
    });
    let slowest = case.producers().filter(|_| case.producers().count() > 1).filter_map(|client| {
        let wait_ns = client.queue_mean_ns? + client.rtt_mean_ns?;
        Some((client, wait_ns)).filter(|(_, wait_ns)| wait_ns.is_finite())
    });
    let slowest = slowest.max_by(|a, b| a.1.total_cmp(&b.1));
    let mean_ns =
        case.stages.rtt_ns.map(|rtt_ns| rtt_ns + case.stages.mean_ns(Stage::ClientQueue).unwrap_or(0.0));
    let apart = slowest.filter(|(_, wait_ns)| mean_ns.is_some_and(|mean_ns| *wait_ns >= APART * mean_ns));
    let apart = apart.map(|(client, wait_ns)| {
        format!(
            "Producers differ: {} waits {} in its queue and for the answer.",
            quoted(&client.name),
            time(wait_ns)
        )
    });
    let part = covered_in_part(case).map(|client| {
        format!(
            "The statistics of {} cover {} of the window alone: it began or ended within it, or its application stood still.",
            quoted(&client.name),
            time(client.window_ns as f64)
        )
    });
    ended.chain(refused(case)).chain(restarted).chain(short).chain(part).chain(apart).collect()
}

/// That brokers refuse what clients ask, and in whose words: what is refused is stored nowhere.
fn refused(case: &Case) -> Option<String> {
    let per_s = refused_per_s(case)?;
    let mut codes: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
    for (code, per_s) in case.brokers().iter().flat_map(|broker| &broker.errors_per_s) {
        *codes.entry(code).or_default() += known(Some(*per_s)).unwrap_or(0.0);
    }
    let most = codes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, per_s)| *per_s > 0.0);
    let code = most.map_or_else(String::new, |(code, _)| format!(", most often with {code}"));
    Some(format!(
        "Brokers refuse {} of produce and fetch requests{code}: what is refused is not stored.",
        plumb_model::figure::per_s(per_s)
    ))
}

/// Produce and fetch requests that fail, a second, where they are 1 % of the Produce requests or more (ours).
fn refused_per_s(case: &Case) -> Option<f64> {
    let failed = known(case.broker_sum(|broker| broker.failed_requests_per_s))?;
    let share = ratio(Some(failed), case.requests_per_s("Produce"));
    share.is_none_or(|share| share >= REFUSED_MIN).then_some(failed).filter(|failed| *failed > 0.0)
}

/// A client whose statistics cover less than half of the window: lines come from its application's own calls, so that one that stands still
/// writes none.
fn covered_in_part<'a>(case: &Case<'a>) -> Option<&'a ClientWindow> {
    let window_ns = case.path.elapsed_ns;
    let mut clients = case.path.clients.iter().filter(|client| client.kind == ClientKind::Librdkafka);
    clients.find(|client| client.window_ns > 0 && client.window_ns < window_ns / 2)
}

/// Where the time goes: the longest stages, until they are three quarters of all.
fn waits(case: &Case) -> Option<String> {
    let sum_ns = case.stages.sum_ns()?;
    let mut parts = Vec::new();
    let mut told_ns = 0.0;
    for (stage, mean_ns) in case.stages.longest().into_iter().take(3) {
        if told_ns >= 0.75 * sum_ns || mean_ns <= 0.0 {
            break;
        }
        told_ns += mean_ns;
        parts.push(format!("{} ({}) {}", time(mean_ns), percent(mean_ns / sum_ns), stage.words()));
    }
    if let Some(throttle_ns) = case.stages.throttle_ns.filter(|throttle_ns| *throttle_ns >= 0.1 * sum_ns) {
        parts.push(format!("{} held back by a quota", time(throttle_ns)));
    }
    let of_clients = [Stage::ClientQueue, Stage::ClientSend, Stage::Unexplained, Stage::Fetch];
    let who = match of_clients.iter().any(|stage| case.stages.mean_ns(*stage).is_some()) {
        true => "A message waits",
        false => "A request waits in the broker for",
    };
    let total = time(sum_ns);
    match parts.is_empty() {
        true => Some(format!("{who} {total} on average.")),
        false => Some(format!("{who} {total} on average: {}.", list(&parts))),
    }
}

/// What was found: the first root, what follows from it, and another root, if there is one.
fn causes(findings: &[Cause]) -> Vec<String> {
    let supported = |cause: &&Cause| cause.finding.confidence >= Some(Confidence::Supported);
    let mut roots = findings.iter().filter(supported).filter(|cause| cause.consequence_of.is_empty());
    let Some(first) = roots.next() else { return Vec::new() };
    let mut told = vec![first.finding.claim.clone()];
    let followers = findings.iter().filter(supported).filter(|cause| !cause.consequence_of.is_empty());
    let followers: Vec<String> = followers.map(|cause| format!("`{}`", cause.finding.id)).collect();
    match followers.as_slice() {
        [] => {}
        [one] => told.push(format!("{one} is a consequence.")),
        many => told.push(format!("{} are consequences.", list(many))),
    }
    if let Some(second) = roots.next() {
        let share = second.share_of_gap.map(|share| format!(" ({} of the wait)", percent(share)));
        told.push(format!(
            "Beside it: {}{}.",
            second.finding.claim.trim_end_matches('.'),
            share.unwrap_or_default()
        ));
    }
    told
}

/// The nearest limit and how much of it is in use.
fn nearest(bounds: &[PathBound]) -> Option<String> {
    let bound = bounds.first()?;
    let name = match bound.name.as_str() {
        "aes" => "encryption with AES",
        "device_write" => "writing to the device",
        "fsync" => "commits to the device",
        "network" => "the network interface",
        "memory" => "copies in memory",
        "network_threads" => "the busiest network thread",
        "handlers" => "the request handlers",
        "cpu" => "the processors",
        "cpu_per_byte" => "the processors, at this cost of a byte",
        "connection" => "one connection, which serves one request at a time",
        other => other,
    };
    Some(format!("The nearest limit is {name}: {} of it is in use.", percent(used(bound))))
}

/// The load at which nothing was found.
fn load(case: &Case) -> Option<String> {
    let per_s = case
        .broker_sum(|broker| broker.messages_in_per_s)
        .or_else(|| super::measure::sum(case.producers().map(|client| client.messages_per_s)))?;
    let handlers = case.threads(ThreadClass::Handler, |threads| threads.executing);
    let busy =
        handlers.map(|share| format!("; the handlers are on a processor for {} of the time", percent(share)));
    Some(format!("It takes {}{}.", messages_per_s(per_s), busy.unwrap_or_default()))
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
    // An abbreviation stays as it is: "TLS ...".
    match text.chars().nth(1).is_some_and(char::is_uppercase) {
        true => text.to_owned(),
        false => first + letters.as_str(),
    }
}
