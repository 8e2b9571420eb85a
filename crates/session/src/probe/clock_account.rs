//! What this host says of its own clock: whose it is, and how far off at most. The listening side tells it to its peer.

use plumb_model::facts::{ClockSync, Fact};
use plumb_model::probe::{ClaimSource, ClockAccount, ClockClaim, KernelSync};
use plumb_observe::{HostRoot, SystemCommands, clock_identity, clock_sync};
use plumb_probe::clock::kernel_sync;

/// Asks the time service, which takes milliseconds.
#[must_use]
pub fn clock_account() -> ClockAccount {
    let identity = clock_identity(&HostRoot::default());
    ClockAccount {
        boot_id: identity.boot_id,
        namespace_offset_ns: identity.namespace_offset_ns,
        claim: claim(&clock_sync(&SystemCommands::default()), &kernel_sync()),
    }
}

/// The error of the wall clock by the time service (RFC 5905, root distance and the offset that is left), else by the kernel.
pub(super) fn claim(service: &Fact<ClockSync>, kernel: &Fact<KernelSync>) -> Option<ClockClaim> {
    let distance = |sync: &ClockSync| {
        let parts = [sync.offset_ns?, sync.root_dispersion_ns?, sync.root_delay_ns? / 2];
        sync.synchronised.then(|| parts.iter().sum())
    };
    let of = |source| move |error_ns| ClockClaim { error_ns, source };
    let of_kernel = || kernel.value().filter(|sync| sync.synchronised).map(|sync| sync.max_error_ns);
    let of_service = service.value().and_then(distance).map(of(ClaimSource::TimeService));
    of_service.or_else(|| of_kernel().map(of(ClaimSource::Kernel)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(synchronised: bool) -> Fact<KernelSync> {
        let sync = KernelSync {
            synchronised,
            offset_ns: 0,
            max_error_ns: 9_000_000,
            estimated_error_ns: 0,
            frequency_ppm: 0.0,
        };
        Fact::known(sync, "adjtimex")
    }

    #[test]
    fn the_wall_clock_is_off_by_offset_dispersion_and_half_the_delay_as_the_time_service_says() {
        let sync = ClockSync {
            synchronised: true,
            stratum: Some(3),
            offset_ns: Some(100),
            rms_offset_ns: None,
            root_delay_ns: Some(2_000),
            root_dispersion_ns: Some(30),
        };
        let of = |error_ns, source| Some(ClockClaim { error_ns, source });
        let known = Fact::known(sync.clone(), "chronyc");
        assert_eq!(claim(&known, &kernel(true)), of(1_130, ClaimSource::TimeService));
        let lost = Fact::known(ClockSync { synchronised: false, ..sync }, "chronyc");
        assert_eq!(
            claim(&lost, &kernel(true)),
            of(9_000_000, ClaimSource::Kernel),
            "the kernel's word is next"
        );
        assert_eq!(claim(&Fact::unknown("none"), &kernel(false)), None);
    }
}
