use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use skillrun_inspect::{attempts, bundle, diagnose, interactions};
use skillrun_runs::{changes, result, retention};
use skillrun_runtime::engines;

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// Schemars numbers types that have the same name, and which one gets the number depends on the order.
#[test]
fn every_type_that_is_sent_has_a_name_of_its_own_in_schemas() {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    for add in [
        add::<attempts::Attempt>,
        add::<changes::WorkspaceChange>,
        add::<changes::NoChanges>,
        add::<engines::EngineList>,
        add::<engines::EngineDetails>,
        add::<interactions::AskedQuestion>,
        add::<diagnose::Diagnosis>,
        add::<result::RunResult>,
        add::<bundle::Summary>,
        add::<retention::RetentionStatus>,
        add::<retention::Why>,
        add::<skillrun_catalog::Row>,
        add::<skillrun_catalog::Waiting>,
        add::<skillrun_skill::SkillReport>,
        add::<skillrun_skill::SkillOrigin>,
        add::<skillrun_model::verdict::Verdict>,
    ] {
        add(&mut generator);
    }
    let names: Vec<&String> = generator.definitions().keys().collect();
    assert!(names.len() > 40, "{names:?}");
    let numbered: Vec<_> = names.iter().filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).collect();
    assert!(numbered.is_empty(), "{numbered:?}");
}
