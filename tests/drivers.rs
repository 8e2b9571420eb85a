//! Tests that every driver must pass: written once, made for each.

/// A driver, as the program's flag and a scenario's key name it.
pub(crate) type Driver = &'static str;

/// Makes a test of each function for each driver, `librdkafka::name` and `wire::name`; the function is told the driver.
macro_rules! on_both_drivers {
    ($($(#[$attribute:meta])* $test:ident),+ $(,)?) => {
        mod librdkafka {
            $(#[test]
            $(#[$attribute])*
            fn $test() {
                super::$test("librdkafka");
            })+
        }

        mod wire {
            $(#[test]
            $(#[$attribute])*
            fn $test() {
                super::$test("wire");
            })+
        }
    };
}

pub(crate) use on_both_drivers;
