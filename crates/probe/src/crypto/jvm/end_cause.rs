//! The cause of a Java's end, taken from its messages.

/// Lines that say nothing of a cause, and options that the environment gave it, among which may be secrets.
const BESIDE: [&str; 7] = [
    "NOTE:",
    "Picked up ",
    "WARNING:",
    "warning:",
    "Error: Could not create the Java Virtual Machine",
    "Error: A fatal exception has occurred",
    "at ",
];
/// A cause is on the first line that is left, or the line after it.
const LINES: usize = 2;

/// The cause in its complaints, on one line; none when there is no word of it.
pub(super) fn cause(complaints: &str) -> Option<String> {
    let says = |line: &&str| !line.is_empty() && !BESIDE.iter().any(|start| line.starts_with(start));
    let words: Vec<&str> = complaints.lines().map(str::trim).filter(says).take(LINES).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_between_what_every_java_says() {
        for (complaints, expected) in [
            (
                "NOTE: Picked up JDK_JAVA_OPTIONS: -Dsecret=x -XX:+Nonsense\nUnrecognized VM option 'Nonsense'\n\
                 Error: Could not create the Java Virtual Machine.\n\
                 Error: A fatal exception has occurred. Program will exit.\n",
                Some("Unrecognized VM option 'Nonsense'"),
            ),
            (
                "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nError occurred during initialization of boot layer\n\
                 java.lang.module.FindException: Module jdk.compiler not found\n",
                Some(
                    "Error occurred during initialization of boot layer; java.lang.module.FindException: Module \
                     jdk.compiler not found",
                ),
            ),
            (
                "Exception in thread \"main\" java.lang.Error: it\n\tat Speed.main(Speed.java:3)\n",
                Some("Exception in thread \"main\" java.lang.Error: it"),
            ),
            ("NOTE: Picked up JDK_JAVA_OPTIONS: -Dx\n\n", None),
            ("", None),
        ] {
            assert_eq!(cause(complaints).as_deref(), expected);
        }
    }
}
