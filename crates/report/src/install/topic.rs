//! Topic settings as commands of Kafka's own tool, with the way back.

use super::{Handed, InstallFile, comment, quoted};
use plumb_model::change::{Change, Owner};

const APPLY: &str = "topic/apply.sh";
const UNDO: &str = "topic/undo.sh";

pub(super) fn files(handed: &Handed, settings: &[Change]) -> Vec<InstallFile> {
    let of_topic: Vec<&Change> =
        settings.iter().filter(|change| change.target.owner == Owner::Topic).collect();
    if of_topic.is_empty() {
        return Vec::new();
    }
    // The topic of the experiment was its own: what yours has is asked, and kept for the way back.
    let apply = of_topic.iter().map(|change| match &change.after {
        Some(value) => format!("set_config {} {}\n", quoted(&change.target.key), quoted(value)),
        None => format!("drop_config {}\n", quoted(&change.target.key)),
    });
    let head = comment(&format!("Gives a topic the settings of \"{}\".", handed.winner.step));
    let apply: String = apply.collect();
    let keys: Vec<String> = of_topic.iter().map(|change| quoted(&change.target.key)).collect();
    vec![
        InstallFile::script(APPLY, format!("#!/usr/bin/env bash\n{head}{APPLY_HEAD}{apply}")),
        InstallFile::script(
            UNDO,
            format!(
                "#!/usr/bin/env bash\n{}{UNDO_HEAD}for key in {}; do restore \"$key\"; done\n",
                comment("Gives the topic back what it had before apply.sh, as kept in TOPIC.before."),
                keys.join(" ")
            ),
        ),
    ]
}

const APPLY_HEAD: &str = r#"# Usage: [COMMAND_CONFIG=client.properties] ./apply.sh BOOTSTRAP TOPIC
# What the topic has of its own before is kept in TOPIC.before, for undo.sh.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
bootstrap=$1 topic=$2
configs() {
  kafka-configs.sh --bootstrap-server "$bootstrap" ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} \
    --entity-type topics --entity-name "$topic" "$@"
}
set_config() { configs --alter --add-config "$1=[$2]"; }
drop_config() {
  if grep -q "^  $1=" "$topic.before"; then configs --alter --delete-config "$1"; fi
}
if [ ! -e "$topic.before" ]; then
  configs --describe > "$topic.before.partial"
  mv "$topic.before.partial" "$topic.before"
fi
"#;

const UNDO_HEAD: &str = r#"# Usage: [COMMAND_CONFIG=client.properties] ./undo.sh BOOTSTRAP TOPIC
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
bootstrap=$1 topic=$2
[ -e "$topic.before" ] || { echo "$topic.before is not here: apply.sh makes it" >&2; exit 1; }
configs() {
  kafka-configs.sh --bootstrap-server "$bootstrap" ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} \
    --entity-type topics --entity-name "$topic" "$@"
}
# Lines of --describe are "  key=value sensitive=false synonyms={...}"; only what the topic had of its own is there.
restore() {
  local before
  before=$(sed -n "s/^  ${1//./\\.}=\(.*\) sensitive=.*/\1/p" "$topic.before")
  if grep -q "^  $1=" "$topic.before"; then
    configs --alter --add-config "$1=[$before]"
  elif configs --describe | grep -q "^  $1="; then
    configs --alter --delete-config "$1"
  fi
}
"#;
