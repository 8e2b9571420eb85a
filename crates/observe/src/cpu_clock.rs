//! Processor time of a whole process from its own clock: exact to the scheduler's nanoseconds, ended threads included, and
//! so cheap that it can be read every second of a measurement.
//!
//! `/proc` tells the same in steps of 10 ms, or thread by thread at 50 us each: for readings at both ends of a
//! measurement, with what every thread did, see `threads.rs`.

#![expect(unsafe_code, reason = "no safe binding has the processor clock of another process")]

use std::mem::MaybeUninit;

/// Processor time that process `pid` has used since its start, in nanoseconds. None where there is no such process.
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for the clock's number; the call keeps no pointer to it.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is a valid place for a time; a clock of a process that has ended meanwhile is refused.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so it has filled the time in.
    let time = unsafe { time.assume_init() };
    let (s, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    s.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_on_the_clock_of_the_process_that_did_it_also_after_its_thread_has_ended() {
        let own = std::process::id();
        let before = process_cpu_ns(own).unwrap();
        std::thread::spawn(move || while process_cpu_ns(own).unwrap() < before + 20_000_000 {})
            .join()
            .unwrap();
        assert!(process_cpu_ns(own).unwrap() >= before + 20_000_000);
    }

    #[test]
    fn another_process_is_told_from_this_one_and_one_that_is_not_there_has_no_clock() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let theirs = process_cpu_ns(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(theirs < 60_000_000_000);
        assert_eq!(process_cpu_ns(child.id()), None);
        assert_eq!(process_cpu_ns(u32::MAX), None);
    }
}
