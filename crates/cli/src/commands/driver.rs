//! `plumb driver`: tries clients that are programs of their own, and is one; and the flags that choose the driver of a run.

use super::End;
use crate::args::driver::{DriverArgs, DriverCheckArgs, DriverCommand, DriverCommandArgs, RoleWord};
use crate::args::result::ResultOutput;
use crate::errors::UsageError;
use crate::printer;
use anyhow::Result;
use plumb_load::external::serve_librdkafka;
use plumb_model::driver_check::{DriverCheck, Owed, RoleCheck};
use plumb_model::plan::{ClientProgram, JavaClient, Origin};
use plumb_model::resolve::Sources;
use plumb_model::scenario::{DriverWords, OneOrMany, Scenario};
use plumb_report::text::printable;
use plumb_session::{DriverRoles, check_driver};
use std::fmt::Write;

pub(super) fn driver(arguments: &DriverCommandArgs) -> Result<End> {
    match &arguments.command {
        DriverCommand::Check(arguments) => check(arguments),
        DriverCommand::Librdkafka => be_librdkafka(),
    }
}

fn check(arguments: &DriverCheckArgs) -> Result<End> {
    let program = match arguments.java {
        true => ClientProgram::Java(JavaClient {
            classpath: arguments.java_classpath.clone(),
            ..JavaClient::default()
        }),
        false => ClientProgram::Command(arguments.command.clone()),
    };
    let roles = match arguments.role {
        RoleWord::Both => DriverRoles::Both,
        RoleWord::Producer => DriverRoles::Producer,
        RoleWord::Consumer => DriverRoles::Consumer,
    };
    let check = check_driver(&program, roles)?;
    printer::out(&match arguments.output {
        ResultOutput::Json => format!("{}\n", serde_json::to_string_pretty(&check)?),
        ResultOutput::Text => text(&check),
    });
    Ok(if check.passes() { End::Done } else { End::Found })
}

fn text(check: &DriverCheck) -> String {
    let mut text = format!("{}\n", printable(&check.program));
    check.roles.iter().for_each(|role| of_role(&mut text, role));
    let _ = write!(
        text,
        "\n{}\n",
        match check.passes() {
            true => "It kept all that a driver owes.",
            false => "It is no driver to measure with: see what it did not keep.",
        }
    );
    text
}

fn of_role(text: &mut String, role: &RoleCheck) {
    let about: Vec<&str> = ["client", "version", "runtime"]
        .iter()
        .filter_map(|name| Some(role.about.get(*name)?.as_str()))
        .collect();
    let _ = write!(
        text,
        "\nAs a {}{}{}\n",
        role.role,
        if about.is_empty() { "" } else { ": " },
        printable(&about.join(", "))
    );
    role.owed.iter().for_each(|owed| of_owed(text, owed));
    for remark in &role.remarks {
        let _ = writeln!(text, "  note  {}", printable(remark));
    }
}

fn of_owed(text: &mut String, owed: &Owed) {
    let word = if owed.kept { "ok  " } else { "FAIL" };
    let _ = writeln!(text, "  {word}  {}", owed.what);
    for case in &owed.cases {
        let _ = writeln!(text, "          {}", printable(case));
    }
    let more = owed.broken - owed.cases.len() as u64;
    if more > 0 {
        let _ = writeln!(text, "          and {more} more");
    }
}

fn be_librdkafka() -> Result<End> {
    let usual = "it is started by Plumb: driver: {command: [plumb, driver, librdkafka]}";
    serve_librdkafka().map_err(|error| {
        UsageError::new(format!("standard input is no socket of Plumb's: {error}"), usual)
    })?;
    Ok(End::Done)
}

/// The driver of the flags takes the place of those that the file names, in every setup and arm.
pub(super) fn use_driver(flags: &DriverArgs, scenario: &mut Scenario, sources: &mut Sources) -> Result<()> {
    if let Some(driver) = &flags.driver {
        scenario.driver = Some(driver.clone());
        sources.insert("driver".to_owned(), Origin::Flag { flag: "--driver".to_owned() });
        for (index, setup) in scenario.setups.iter_mut().enumerate() {
            setup.driver = None;
            sources.remove(&format!("setups.{index}.driver"));
        }
        for (name, arm) in &mut scenario.arms.0 {
            arm.driver = None;
            sources.remove(&format!("arms.{name}.driver"));
        }
    }
    if let Some(path) = &flags.java_classpath {
        let of_setups = scenario.setups.iter_mut().map(|setup| &mut setup.driver);
        let of_arms = scenario.arms.0.iter_mut().map(|(_, arm)| &mut arm.driver);
        let drivers = of_setups.chain(of_arms).chain([&mut scenario.driver]).flatten();
        let mut any = false;
        drivers.for_each(|driver| any |= use_class_path(driver, path));
        if !any {
            return Err(no_java().into());
        }
    }
    Ok(())
}

/// A class path is given and no client would use it.
pub(super) fn no_java() -> UsageError {
    UsageError::new("--java-classpath is for the client for Java, and no driver is java", "--driver java")
}

/// Gives every client for Java among these drivers a class path; true if there is one.
pub(super) fn use_class_path(drivers: &mut OneOrMany<DriverWords>, path: &str) -> bool {
    let mut any = false;
    let mut change = |words: &mut DriverWords| {
        let Some(external) = &mut words.external else { return };
        for side in [&mut external.producer, &mut external.consumer] {
            if let ClientProgram::Java(java) = side {
                java.classpath = Some(path.to_owned());
                any = true;
            }
        }
    };
    match drivers {
        OneOrMany::One(words) => change(words),
        OneOrMany::Many(all) => all.iter_mut().for_each(change),
    }
    any
}
