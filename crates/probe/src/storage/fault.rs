//! Signals of a failing storage, turned into errors: without this the kernel ends the whole program where a file system fails
//! under a mapped file (SIGBUS), or where a file would grow beyond the user's limit (SIGXFSZ).
//!
//! A store to mapped memory has no result that could say that it failed. The thread that is about to store says where its
//! mapping is; when the kernel reports a fault in there, the handler puts memory of nobody over the page and notes it, the
//! store is done again and goes nowhere, and whoever stored asks whether that has happened. No commit pays for it.

#![expect(unsafe_code, reason = "a signal's handler is registered by its address")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// Bytes of a page, in which the memory of a mapping is replaced; 0 until anybody listens.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The range that this thread stores to: first byte and the one behind the last. Without destructors, so that a handler may
    /// read them; atomic not for other threads but for that handler.
    static FIRST: AtomicUsize = const { AtomicUsize::new(0) };
    static END: AtomicUsize = const { AtomicUsize::new(0) };
    static FAILED: AtomicBool = const { AtomicBool::new(false) };
}

/// A file may not grow beyond the limit: the write says so by itself (setrlimit(2)).
pub(super) fn refuse_by_error() {
    static ONCE: Once = Once::new();
    // SAFETY: no handler of ours is called.
    ONCE.call_once(|| unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    });
}

/// Does something that stores to this mapping, of whole pages; whether a page of it could not be had meanwhile.
pub(super) fn failed_in(memory: *mut c_void, len: usize, store: impl FnOnce()) -> bool {
    static ONCE: Once = Once::new();
    ONCE.call_once(listen);
    let set = |first: usize, end: usize| {
        FIRST.with(|place| place.store(first, Ordering::Relaxed));
        END.with(|place| place.store(end, Ordering::Relaxed));
    };
    set(memory as usize, memory as usize + len);
    // Else the compiler could move the store before this, or leave this out.
    compiler_fence(Ordering::SeqCst);
    store();
    compiler_fence(Ordering::SeqCst);
    set(0, 0);
    FAILED.with(|failed| failed.swap(false, Ordering::Relaxed))
}

fn listen() {
    // SAFETY: it only tells.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE_BYTES.store(usize::try_from(page_bytes).unwrap_or(0), Ordering::Relaxed);
    // SAFETY: all zeroes is an action without flags and with an empty mask; the handler has the signature that SA_SIGINFO asks
    // for and calls nothing but mmap(2) and sigaction(2).
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_fault(signal: i32, information: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes what belongs to the signal; for SIGBUS that is an address.
    let address = unsafe { (*information).si_addr() } as usize;
    let stored = |place: &AtomicUsize| place.load(Ordering::Relaxed);
    let (first, end) = (FIRST.with(stored), END.with(stored));
    let mut replaced = false;
    let page_bytes = PAGE_BYTES.load(Ordering::Relaxed);
    if (first..end).contains(&address) && page_bytes > 0 {
        let page = address / page_bytes * page_bytes;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page lies in the mapping of the thread that this interrupts, which nobody else uses.
        let got = unsafe {
            libc::mmap(page as *mut c_void, page_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        replaced = got != libc::MAP_FAILED;
    }
    if replaced {
        FAILED.with(|failed| failed.store(true, Ordering::Relaxed));
        return;
    }
    // None of ours: it ends the program as without this handler, once the instruction is done again.
    // SAFETY: as in `listen`; zeroes name the default action.
    unsafe {
        let action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}
