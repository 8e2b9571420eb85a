//! The calls into C: a clock read as programs do it and by a system call, and the kernel's account of its wall clock.

#![expect(
    unsafe_code,
    reason = "clock_gettime by two ways and adjtimex have no safe form with the way in it"
)]

use plumb_model::facts::Fact;
use plumb_model::probe::KernelSync;

/// Reads a clock through the C library, which takes the vDSO where the kernel offers it; 0 for a clock that is not there.
pub(super) fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec of ours that outlives the call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    nanoseconds(&time)
}

/// Reads a clock by a system call, whatever the vDSO offers.
pub(super) fn read_by_system_call_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) takes a clock's number and a timespec to write to, which outlives the call.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::c_long::from(clock), &raw mut time) };
    nanoseconds(&time)
}

/// The step that the kernel states.
pub(super) fn stated_step_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec of ours that outlives the call.
    let result = unsafe { libc::clock_getres(clock, &raw mut time) };
    (result == 0).then(|| nanoseconds(&time))
}

fn nanoseconds(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The kernel's account of its wall clock. Nothing is set.
pub fn kernel_sync() -> Fact<KernelSync> {
    // SAFETY: all fields of timex are integers, for which zero is a value.
    let mut time: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: with `modes` 0 the call only writes to `time`, which is ours and outlives it.
    let state = unsafe { libc::adjtimex(&raw mut time) };
    if state < 0 {
        return Fact::unknown(format!("adjtimex: {}", std::io::Error::last_os_error()));
    }
    let offset_unit_ns = if time.status & libc::STA_NANO == 0 { 1_000 } else { 1 };
    let microseconds = |error: libc::c_long| u64::try_from(error).unwrap_or(0) * 1_000;
    let sync = KernelSync {
        synchronised: time.status & libc::STA_UNSYNC == 0,
        offset_ns: time.offset as i64 * offset_unit_ns,
        max_error_ns: microseconds(time.maxerror),
        estimated_error_ns: microseconds(time.esterror),
        // adjtimex(2): parts per million with 16 bits of fraction.
        frequency_ppm: time.freq as f64 / 65_536.0,
    };
    Fact::known(sync, "adjtimex")
}
