//! `libcrypto` as it lies on this host, with the few of its functions that are measured.
//!
//! The only file of the probe that calls into C for cryptography. Everything that it hands out is safe: a context is used
//! by one thread, freed once, and gets buffers of the length that it is told.

#![expect(unsafe_code, reason = "a shared library is loaded and its functions are called")]

use crate::crypto::CryptoError;
use plumb_model::probe::crypto::EngineName;
use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use std::ptr::{null, null_mut};
use std::time::Duration;

/// File names by which programs find it, the newest first.
const NAMES: [&CStr; 2] = [c"libcrypto.so.3", c"libcrypto.so.1.1"];
/// `OPENSSL_VERSION`: the version in words.
const VERSION_WORDS: c_int = 0;
/// `EVP_CTRL_AEAD_SET_IVLEN`.
const SET_IV_LENGTH: c_int = 0x9;
/// Bytes of a nonce, of every cipher here.
const IV_BYTES: usize = 12;
/// Longer than any key here.
const KEY: [u8; 32] = [7; 32];
/// A stream is begun anew before this many bytes: GCM allows 2^36 - 32 with one nonce.
const STREAM_BYTES_MAX: u64 = 1 << 35;

/// Declares the functions that are looked up, with the signatures of OpenSSL's headers (the same in 1.1.1 and 3).
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Functions {
            fn look_up(handle: *mut c_void, file: &str) -> Result<Self, CryptoError> {
                Ok(Functions { $($field: {
                    let found = symbol(handle, $name);
                    if found.is_null() {
                        let function = $name.to_str().unwrap_or_default();
                        return Err(CryptoError::NoFunction { file: file.to_owned(), function });
                    }
                    // SAFETY: the symbol of this name has this signature in OpenSSL's headers.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(found) }
                },)* })
            }
        }
    };
}

functions! {
    version = c"OpenSSL_version": fn(c_int) -> *const c_char;
    version_number = c"OpenSSL_version_num": fn() -> c_ulong;
    cipher_by_name = c"EVP_get_cipherbyname": fn(*const c_char) -> *const c_void;
    digest_by_name = c"EVP_get_digestbyname": fn(*const c_char) -> *const c_void;
    cipher_new = c"EVP_CIPHER_CTX_new": fn() -> *mut c_void;
    cipher_free = c"EVP_CIPHER_CTX_free": fn(*mut c_void);
    cipher_control = c"EVP_CIPHER_CTX_ctrl": fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;
    cipher_init = c"EVP_CipherInit_ex": fn(*mut c_void, *const c_void, *mut c_void, *const c_uchar, *const c_uchar, c_int) -> c_int;
    cipher_padding = c"EVP_CIPHER_CTX_set_padding": fn(*mut c_void, c_int) -> c_int;
    encrypt_update = c"EVP_EncryptUpdate": fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;
    encrypt_final = c"EVP_EncryptFinal_ex": fn(*mut c_void, *mut c_uchar, *mut c_int) -> c_int;
    digest = c"EVP_Digest": fn(*const c_void, usize, *mut c_uchar, *mut c_uint, *const c_void, *mut c_void) -> c_int;
    digest_context_new = c"EVP_MD_CTX_new": fn() -> *mut c_void;
    digest_context_free = c"EVP_MD_CTX_free": fn(*mut c_void);
    sign_init = c"EVP_DigestSignInit": fn(*mut c_void, *mut *mut c_void, *const c_void, *mut c_void, *mut c_void) -> c_int;
    sign = c"EVP_DigestSign": fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    verify_init = c"EVP_DigestVerifyInit": fn(*mut c_void, *mut *mut c_void, *const c_void, *mut c_void, *mut c_void) -> c_int;
    verify = c"EVP_DigestVerify": fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    private_key = c"d2i_AutoPrivateKey": fn(*mut *mut c_void, *mut *const c_uchar, c_long) -> *mut c_void;
    key_free = c"EVP_PKEY_free": fn(*mut c_void);
}

/// `EVP_CIPHER_fetch`, `EVP_MD_fetch`: an algorithm is looked up once instead of in every operation. Version 3 only.
type Fetch = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

/// The loaded library. It is never unloaded: OpenSSL registers handlers that run when the process ends.
pub(super) struct Library {
    functions: Functions,
    fetch_cipher: Option<Fetch>,
    fetch_digest: Option<Fetch>,
    file: Option<String>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Library {
    pub(super) fn load() -> Result<Self, CryptoError> {
        let mut tried = Vec::new();
        for name in NAMES {
            // SAFETY: the name ends with a zero byte; loading runs the library's own initialisation, which any program that
            // is linked with it runs too.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Self::from_handle(handle, &name.to_string_lossy());
            }
            tried.push(last_error());
        }
        Err(CryptoError::NoLibrary { tried: tried.join("; ") })
    }

    fn from_handle(handle: *mut c_void, name: &str) -> Result<Self, CryptoError> {
        let functions = Functions::look_up(handle, name)?;
        let fetch = |name| {
            let found = symbol(handle, name);
            // SAFETY: both functions of this kind have this signature in OpenSSL's headers.
            (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Fetch>(found) })
        };
        Ok(Library {
            functions,
            fetch_cipher: fetch(c"EVP_CIPHER_fetch"),
            fetch_digest: fetch(c"EVP_MD_fetch"),
            file: file_of(symbol(handle, c"OpenSSL_version")),
        })
    }

    pub(super) fn version(&self) -> String {
        // SAFETY: it returns a text that lives as long as the library.
        unsafe { CStr::from_ptr((self.functions.version)(VERSION_WORDS)) }.to_string_lossy().into_owned()
    }

    pub(super) fn number(&self) -> u64 {
        // SAFETY: it takes nothing and returns a number.
        unsafe { (self.functions.version_number)() }
    }

    pub(super) fn file(&self) -> Option<String> {
        self.file.clone()
    }
}

/// An algorithm by name, looked up for good where the version can. What was fetched is kept to the end of the process.
fn algorithm(
    fetch: Option<Fetch>,
    name: &CStr,
    by_name: impl Fn(*const c_char) -> *const c_void,
) -> *const c_void {
    match fetch {
        // SAFETY: the default library context and no property query, as the headers allow.
        Some(fetch) => unsafe { fetch(null_mut(), name.as_ptr(), null()) },
        None => by_name(name.as_ptr()),
    }
}

/// A cipher's context with a key.
pub(super) struct Cipher<'a> {
    functions: &'a Functions,
    context: *mut c_void,
    streamed_bytes: u64,
}

impl<'a> Cipher<'a> {
    pub(super) fn new(library: &'a Library, name: &CStr) -> Result<Self, CryptoError> {
        let functions = &library.functions;
        let algorithm = algorithm(library.fetch_cipher, name, |name| {
            // SAFETY: the name ends with a zero byte.
            unsafe { (functions.cipher_by_name)(name) }
        });
        // SAFETY: it takes nothing; what it returns is freed in `drop`.
        let context = unsafe { (functions.cipher_new)() };
        let cipher = Cipher { functions, context, streamed_bytes: 0 };
        // SAFETY: key and nonce are as long as the longest that a cipher here reads; the context is alive in both calls.
        let ready = !algorithm.is_null()
            && !context.is_null()
            && unsafe {
                (functions.cipher_init)(context, algorithm, null_mut(), KEY.as_ptr(), [0; 16].as_ptr(), 1)
            } == 1
            // As openssl speed does: every later initialisation then says so to the provider again, which costs a tenth of a
            // message of 16 bytes.
            && unsafe { (functions.cipher_padding)(context, 0) } == 1;
        if ready { Ok(cipher) } else { Err(refused(&name.to_string_lossy())) }
    }

    /// Encrypts each block as a message: key and nonce set, encrypted in place, ended. The calls of `openssl speed -evp`.
    pub(super) fn messages(&mut self, block: &mut [u8], count: u64) -> Result<Duration, CryptoError> {
        let iv = [3_u8; 16];
        for _ in 0..count {
            let mut tail = [0_u8; 32];
            let mut length = 0;
            // SAFETY: the context is alive; key and nonce are long enough; these ciphers write as many bytes as they read;
            // `tail` holds more than a block for the end, which is empty.
            let done = unsafe {
                (self.functions.cipher_control)(self.context, SET_IV_LENGTH, IV_BYTES as c_int, null_mut())
                    == 1
                    && (self.functions.cipher_init)(
                        self.context,
                        null(),
                        null_mut(),
                        KEY.as_ptr(),
                        iv.as_ptr(),
                        -1,
                    ) == 1
                    && self.update(block)
                    && (self.functions.encrypt_final)(self.context, tail.as_mut_ptr(), &mut length) == 1
            };
            if !done {
                return Err(refused("a message"));
            }
        }
        Ok(Duration::ZERO)
    }

    /// All blocks parts of one message.
    pub(super) fn stream(&mut self, block: &mut [u8], count: u64) -> Result<Duration, CryptoError> {
        self.streamed_bytes += count * block.len() as u64;
        if self.streamed_bytes > STREAM_BYTES_MAX {
            self.streamed_bytes = 0;
            // SAFETY: the context is alive and keeps its key; the nonce is long enough.
            let begun = unsafe {
                (self.functions.cipher_init)(self.context, null(), null_mut(), null(), [0; 16].as_ptr(), -1)
            };
            if begun != 1 {
                return Err(refused("a nonce"));
            }
        }
        for _ in 0..count {
            // SAFETY: as in `messages`.
            if !unsafe { self.update(block) } {
                return Err(refused("a block"));
            }
        }
        Ok(Duration::ZERO)
    }

    /// SAFETY: the context must be alive and have a key and a nonce.
    unsafe fn update(&mut self, block: &mut [u8]) -> bool {
        let mut length = 0;
        let data = block.as_mut_ptr();
        // SAFETY: these ciphers write as many bytes as they read, and may do so in place.
        unsafe {
            (self.functions.encrypt_update)(self.context, data, &mut length, data, block.len() as c_int) == 1
        }
    }
}

impl Drop for Cipher<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours and is freed once; null is allowed.
        unsafe { (self.functions.cipher_free)(self.context) }
    }
}

/// A digest.
pub(super) struct Digest<'a> {
    functions: &'a Functions,
    algorithm: *const c_void,
}

impl<'a> Digest<'a> {
    pub(super) fn sha256(library: &'a Library) -> Result<Self, CryptoError> {
        let functions = &library.functions;
        let algorithm = algorithm(library.fetch_digest, c"SHA256", |name| {
            // SAFETY: the name ends with a zero byte.
            unsafe { (functions.digest_by_name)(name) }
        });
        if algorithm.is_null() { Err(refused("SHA-256")) } else { Ok(Digest { functions, algorithm }) }
    }

    /// The block, hashed from begin to end so many times.
    pub(super) fn whole(&self, block: &[u8], count: u64) -> Result<Duration, CryptoError> {
        let mut out = [0_u8; 64];
        for _ in 0..count {
            // SAFETY: the block has the length given, and `out` is as long as the longest digest.
            let done = unsafe {
                (self.functions.digest)(
                    block.as_ptr().cast(),
                    block.len(),
                    out.as_mut_ptr(),
                    null_mut(),
                    self.algorithm,
                    null_mut(),
                )
            };
            if done != 1 {
                return Err(refused("to hash"));
            }
        }
        Ok(Duration::ZERO)
    }
}

/// A key pair to sign and verify with.
pub(super) struct PrivateKey<'a> {
    functions: &'a Functions,
    digest: *const c_void,
    key: *mut c_void,
}

impl<'a> PrivateKey<'a> {
    /// Reads a key in PKCS #8.
    pub(super) fn new(library: &'a Library, der: &'static [u8]) -> Result<Self, CryptoError> {
        let digest = Digest::sha256(library)?.algorithm;
        let mut at = der.as_ptr();
        // SAFETY: it reads at most the length given from `at`, which it moves; what it returns is freed in `drop`.
        let key = unsafe { (library.functions.private_key)(null_mut(), &mut at, der.len() as c_long) };
        let key = PrivateKey { functions: &library.functions, digest, key };
        if key.key.is_null() { Err(refused("a private key")) } else { Ok(key) }
    }

    /// Signs so many times; returns the last signature.
    pub(super) fn sign(&self, message: &[u8], count: u64) -> Result<Vec<u8>, CryptoError> {
        let mut signature = [0_u8; 512];
        let mut length = signature.len();
        for _ in 0..count {
            length = signature.len();
            let done = self.with_context(|context| {
                // SAFETY: context and key are alive; the buffers have the lengths given, and 512 bytes hold any signature of
                // the two keys.
                unsafe {
                    (self.functions.sign_init)(context, null_mut(), self.digest, null_mut(), self.key) == 1
                        && (self.functions.sign)(
                            context,
                            signature.as_mut_ptr(),
                            &mut length,
                            message.as_ptr(),
                            message.len(),
                        ) == 1
                }
            });
            if !done {
                return Err(refused("to sign"));
            }
        }
        Ok(signature[..length].to_vec())
    }

    pub(super) fn verify(
        &self,
        message: &[u8],
        signature: &[u8],
        count: u64,
    ) -> Result<Duration, CryptoError> {
        for _ in 0..count {
            let valid = self.with_context(|context| {
                // SAFETY: as in `sign`; nothing is written.
                unsafe {
                    (self.functions.verify_init)(context, null_mut(), self.digest, null_mut(), self.key) == 1
                        && (self.functions.verify)(
                            context,
                            signature.as_ptr(),
                            signature.len(),
                            message.as_ptr(),
                            message.len(),
                        ) == 1
                }
            });
            if !valid {
                return Err(refused("to verify"));
            }
        }
        Ok(Duration::ZERO)
    }

    fn with_context(&self, use_it: impl FnOnce(*mut c_void) -> bool) -> bool {
        // SAFETY: it takes nothing; the context is freed below, once, and null is allowed there.
        let context = unsafe { (self.functions.digest_context_new)() };
        let done = !context.is_null() && use_it(context);
        // SAFETY: see above.
        unsafe { (self.functions.digest_context_free)(context) };
        done
    }
}

impl Drop for PrivateKey<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours and is freed once; null is allowed.
        unsafe { (self.functions.key_free)(self.key) }
    }
}

fn refused(what: &str) -> CryptoError {
    CryptoError::refused(EngineName::Openssl, what)
}

fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the handle is open, and the name ends with a zero byte.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

/// The file from which a symbol was loaded.
fn file_of(symbol: *mut c_void) -> Option<String> {
    // SAFETY: all its fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: it only looks the address up, and fills `info` when it returns other than 0.
    let found = unsafe { libc::dladdr(symbol, &mut info) } != 0 && !info.dli_fname.is_null();
    // SAFETY: the name lives as long as the library is loaded.
    found.then(|| unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

fn last_error() -> String {
    // SAFETY: it returns null or a text that lives until the next call on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: see above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
