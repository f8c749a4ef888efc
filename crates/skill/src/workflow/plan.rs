//! From a file to a plan: finds skills and nested files, and checks what steps say about each other. Nothing is made.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Map, Value, json};
use skillrun_base::lines::PathPart;
use skillrun_base::suggest::closest;
use skillrun_base::text::shortened;
use skillrun_model::workflow::{DEPTH_MAX, ITEMS_MAX, STEPS_MAX, StepId, StepTask, WorkflowPlan, WorkflowStep};

use super::error::{PointerPart, StepLabel, WorkflowError, WorkflowProblem, offered};
use super::file::{FileStep, FileTask, WorkflowFile, WorkflowForm, read};
use super::fit::{Known, Misfit, Target, label, misfit_of_fields, misfit_of_value, names};
use super::known::{Cache, KnownSkill, is_path};
use super::pointer::{Pointer, pointers};
use super::shape::{Shape, ShapePart, Types};
use super::{EXPANDED_MAX, FILE_MAX, graph};
use crate::bounded;
use crate::package::Skill;
use crate::package::paths::InnerPath;
use crate::search::FindError;

/// Most items of literal lists that are held against what a step needs, over all steps of a file: the parts of `with`
/// are counted for each item.
const ITEM_PARTS_MAX: usize = 200_000;
/// Name of a workflow whose file has none.
const UNNAMED: &str = "workflow";
/// Longest sentence about a skill or file.
const MESSAGE_MAX: usize = 300;

/// Finds a skill by its name, or by its path relative to a folder.
pub type SkillFinder<'a> = dyn FnMut(&str, Option<&Path>) -> Result<Skill, FindError> + 'a;

/// What surrounds a file.
pub struct PlanContext<'a> {
    /// The folder of the file: paths in it are relative to it, and workflows in it are not read from elsewhere. None:
    /// the file came without a folder and can name no path.
    pub folder: Option<&'a Path>,
    /// Finds a skill by its name, or by its path relative to the folder, as [`SearchPath::resolve`] does.
    ///
    /// [`SearchPath::resolve`]: crate::SearchPath::resolve
    pub find_skill: &'a mut SkillFinder<'a>,
    /// All engines that there are.
    pub engines: &'a [String],
}

/// A file and what it contains.
#[derive(Debug)]
pub(super) struct PlannedFile {
    plan: WorkflowPlan,
    /// What its `outputs` are, as a JSON Schema.
    output: Rc<Value>,
    /// With those of the workflows in it.
    steps: usize,
    bytes: usize,
    /// How deep workflows are in it.
    depth: usize,
}

/// The plan of a file, or the first thing that is wrong with it.
pub fn plan(file: &WorkflowFile, context: &mut PlanContext<'_>) -> Result<WorkflowPlan, WorkflowError> {
    let mut planner = Planner { context, cache: Cache::default(), open: Vec::new() };
    planner.planned(file, Path::new("")).map(|planned| planned.plan)
}

struct Planner<'c, 'a> {
    context: &'c mut PlanContext<'a>,
    cache: Cache,
    /// The nested files that are being read, by their paths in the folder.
    open: Vec<PathBuf>,
}

/// What a step runs, with what is known of it.
enum Task {
    Skill(Rc<KnownSkill>),
    Prompt,
    Workflow(Rc<PlannedFile>),
}

/// One file while it is checked.
struct Checked<'f> {
    file: &'f WorkflowFile,
    index: HashMap<&'f StepId, usize>,
    tasks: Vec<Task>,
    /// The schema of the output of each step, where there is one; of one item where the step repeats.
    outputs: Vec<Option<Rc<Value>>>,
}

impl Planner<'_, '_> {
    /// `folder`: of this file, relative to that of the first.
    fn planned(&mut self, file: &WorkflowFile, folder: &Path) -> Result<PlannedFile, WorkflowError> {
        let mut checked = Checked {
            file,
            index: file.steps.iter().enumerate().map(|(index, step)| (&step.id, index)).collect(),
            tasks: Vec::with_capacity(file.steps.len()),
            outputs: Vec::with_capacity(file.steps.len()),
        };
        let (mut count, mut bytes, mut depth) = (file.steps.len(), file.source.text.len(), 0);
        for (index, step) in file.steps.iter().enumerate() {
            checked.check_engines(index, self.context.engines)?;
            let task = self.task(file, index, folder)?;
            if let Task::Workflow(nested) = &task {
                count += nested.steps;
                bytes += nested.bytes;
                depth = depth.max(nested.depth + 1);
                let problem = match () {
                    () if depth > DEPTH_MAX => Some(WorkflowProblem::TooDeep),
                    () if count > STEPS_MAX => Some(WorkflowProblem::TooManyStepsInAll(count)),
                    () if bytes > EXPANDED_MAX => Some(WorkflowProblem::TooLargeInAll),
                    () => None,
                };
                if let Some(problem) = problem {
                    return Err(checked.error(index, "workflow", &[], problem));
                }
            }
            checked.outputs.push(match &task {
                Task::Skill(skill) => skill.output.clone(),
                Task::Prompt => step.output.schema.clone().map(Rc::new),
                Task::Workflow(nested) => Some(Rc::clone(&nested.output)),
            });
            checked.tasks.push(task);
        }
        self.check_schemas(&checked)?;
        let needs = checked.needs()?;
        checked.check_cycles(&needs)?;
        checked.check_outputs()?;
        self.check_values(&checked)?;
        Ok(PlannedFile {
            plan: checked.plan(needs),
            output: Rc::new(shape_of_outputs(&file.outputs)),
            steps: count,
            bytes,
            depth,
        })
    }

    fn task(&mut self, file: &WorkflowFile, index: usize, folder: &Path) -> Result<Task, WorkflowError> {
        match &file.steps[index].task {
            FileTask::Prompt(_) => Ok(Task::Prompt),
            FileTask::Skill(name) => {
                let fail = |message: String| {
                    let problem = WorkflowProblem::Skill { name: short(name), message: short(&message) };
                    error_at(file, index, "skill", &[], problem)
                };
                let base = self.context.folder.map(|root| root.join(folder));
                if base.is_none() && is_path(name) {
                    return Err(fail("a workflow without a folder can name skills by their names alone".to_owned()));
                }
                let found = self.cache.skill(name, base.as_deref(), self.context.find_skill);
                found.map(Task::Skill).map_err(|error| fail(error.to_string()))
            }
            FileTask::Workflow(path) => self.nested(file, index, path, folder).map(Task::Workflow),
        }
    }

    fn nested(
        &mut self,
        file: &WorkflowFile,
        index: usize,
        path: &str,
        folder: &Path,
    ) -> Result<Rc<PlannedFile>, WorkflowError> {
        let at_step = |problem| error_at(file, index, "workflow", &[], problem);
        let fail =
            |message: String| at_step(WorkflowProblem::NestedFile { path: short(path), message: short(&message) });
        let Some(root) = self.context.folder else {
            return Err(fail("a workflow without a folder cannot contain files".to_owned()));
        };
        let inner = InnerPath::parse(path).map_err(|problem| fail(format!("the path {problem}")))?;
        let inside = folder.join(inner.as_path());
        if let Some(known) = self.cache.files.get(&inside) {
            return Ok(Rc::clone(known));
        }
        if let Some(begin) = self.open.iter().position(|open| *open == inside) {
            let names: Vec<String> = self.open[begin..].iter().map(|path| path.display().to_string()).collect();
            let cycle = graph::shown(names.iter().map(String::as_str));
            return Err(at_step(WorkflowProblem::NestedCycle(cycle)));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(at_step(WorkflowProblem::TooDeep));
        }
        let text = bounded::read_text_inside(root, &inside, FILE_MAX as u64).map_err(|error| {
            fail(error.kind.to_string().replace("the skill's folder", "the folder of the workflow"))
        })?;
        let name = Path::new(&file.source.name).parent().unwrap_or(Path::new("")).join(inner.as_path());
        let nested = read(&name.display().to_string(), &text, WorkflowForm::of(&inside))?;
        self.open.push(inside.clone());
        let planned = self.planned(&nested, inside.parent().unwrap_or(Path::new("")));
        self.open.pop();
        let planned = Rc::new(planned?);
        self.cache.files.insert(inside, Rc::clone(&planned));
        Ok(planned)
    }

    /// Schemas in the file are schemas, and defaults fit theirs.
    fn check_schemas(&mut self, checked: &Checked<'_>) -> Result<(), WorkflowError> {
        let file = checked.file;
        for (name, input) in &file.inputs {
            let Some(document) = &input.schema else { continue };
            let at = |key: &'static str| [PathPart::Key("inputs"), PathPart::Key(name), PathPart::Key(key)];
            let compiled = self.cache.schema(document).map_err(|error| {
                let problem = does_not_fit(format!("inputs.{name}.schema"), error.to_string());
                file.source.error(&at("schema"), None, problem)
            })?;
            let Some(default) = &input.default else { continue };
            if let Some(problem) = compiled.problems(default).into_iter().next() {
                let key = label(&format!("inputs.{name}.default"), &names(&problem.path));
                return Err(file.source.error(&at("default"), None, does_not_fit(key, problem.message)));
            }
        }
        for (index, step) in file.steps.iter().enumerate() {
            let Some(document) = &step.output.schema else { continue };
            self.cache.schema(document).map_err(|error| {
                let problem = does_not_fit("output.schema".to_owned(), error.to_string());
                checked.error(index, "output", &["schema".to_owned()], problem)
            })?;
        }
        Ok(())
    }

    /// What steps are given fits what they need.
    fn check_values(&mut self, checked: &Checked<'_>) -> Result<(), WorkflowError> {
        let mut item_parts = ITEM_PARTS_MAX;
        for (index, step) in checked.file.steps.iter().enumerate() {
            let items = checked.literal_items(index, &mut item_parts);
            // Without items one look is enough; with literal items, one for each.
            let looks = items.iter().copied().map(Some).chain(items.is_empty().then_some(None));
            for item in looks {
                let known = |pointer: &Pointer| checked.known(index, pointer, item);
                let misfit = match &checked.tasks[index] {
                    Task::Prompt => None,
                    Task::Skill(skill) => skill.input.as_ref().and_then(|(compiled, document)| {
                        misfit_of_fields(&step.with, Target { compiled, document }, "with", &known)
                    }),
                    Task::Workflow(nested) => self.misfit_of_inputs(&nested.plan, &step.with, &known),
                };
                if let Some(Misfit { place, problem }) = misfit {
                    return Err(checked.error(index, "with", &place, problem));
                }
            }
        }
        Ok(())
    }

    fn misfit_of_inputs(
        &mut self,
        plan: &WorkflowPlan,
        with: &Map<String, Value>,
        known: &dyn Fn(&Pointer) -> Known,
    ) -> Option<Misfit> {
        let sentence = |message: String| does_not_fit("with".to_owned(), message);
        if let Some(name) = with.keys().find(|name| !plan.inputs.contains_key(*name)) {
            let known = || plan.inputs.keys().map(String::as_str);
            let hint = match closest(name, known()) {
                Some(near) => format!("; did you mean \"{near}\"?"),
                None => String::new(),
            };
            let problem = sentence(format!("the workflow has no input \"{}\"{hint}", short(name)));
            return Some(Misfit { place: vec![name.clone()], problem });
        }
        for (name, input) in &plan.inputs {
            match (with.get(name), &input.schema) {
                (None, _) if input.default.is_none() => {
                    let problem = sentence(format!("the workflow needs the input \"{name}\""));
                    return Some(Misfit { place: Vec::new(), problem });
                }
                (Some(value), Some(document)) => {
                    let compiled = self.cache.schema(document).ok()?;
                    let target = Target { compiled: &compiled, document };
                    let misfit = misfit_of_value(value, target, &format!("with.{name}"), known);
                    if let Some(Misfit { mut place, problem }) = misfit {
                        place.insert(0, name.clone());
                        return Some(Misfit { place, problem });
                    }
                }
                (None, _) | (Some(_), None) => {}
            }
        }
        None
    }
}

impl Checked<'_> {
    /// An error at a place under a key of a step.
    fn error(&self, index: usize, key: &str, place: &[String], problem: WorkflowProblem) -> WorkflowError {
        error_at(self.file, index, key, place, problem)
    }

    fn check_engines(&self, index: usize, known: &[String]) -> Result<(), WorkflowError> {
        let Some(engine) = self.file.steps[index].engines.iter().find(|engine| !known.contains(engine)) else {
            return Ok(());
        };
        let names = || known.iter().map(String::as_str);
        let problem = WorkflowProblem::UnknownEngine {
            given: short(engine),
            suggestion: closest(engine, names()).map(str::to_owned),
            known: offered(names()),
        };
        let key = if self.file.steps[index].engines.len() > 1 { "engines" } else { "engine" };
        Err(self.error(index, key, &[], problem))
    }

    /// The steps that each step needs, declared ones first; every pointer leads somewhere.
    fn needs(&self) -> Result<Vec<Vec<usize>>, WorkflowError> {
        let mut all = Vec::with_capacity(self.file.steps.len());
        for (index, step) in self.file.steps.iter().enumerate() {
            let (mut needs, mut seen) = (Vec::new(), HashSet::new());
            for (place, need) in step.needs.iter().enumerate() {
                let found = *self.index.get(need).ok_or_else(|| {
                    let (suggestion, known) = self.step_names(need);
                    let problem = WorkflowProblem::MissingNeed { step: short(&need.0), suggestion, known };
                    self.error(index, "needs", &[place.to_string()], problem)
                })?;
                if seen.insert(found) {
                    needs.push(found);
                }
            }
            if let Some(value) = &step.for_each {
                self.check_pointers(index, "for_each", "", value, &mut |found| {
                    if seen.insert(found) {
                        needs.push(found);
                    }
                })?;
                self.check_list(index, value)?;
            }
            for (name, value) in &step.with {
                self.check_pointers(index, "with", name, value, &mut |found| {
                    if seen.insert(found) {
                        needs.push(found);
                    }
                })?;
            }
            all.push(needs);
        }
        Ok(all)
    }

    /// The pointers in the value of `for_each`, or of one field of `with`.
    fn check_pointers(
        &self,
        index: usize,
        key: &str,
        name: &str,
        value: &Value,
        need: &mut dyn FnMut(usize),
    ) -> Result<(), WorkflowError> {
        let place_of = |place: &str| {
            let mut all: Vec<String> = Some(name.to_owned()).filter(|name| !name.is_empty()).into_iter().collect();
            all.extend(names(place));
            all
        };
        let repeats = key == "with" && self.file.steps[index].for_each.is_some();
        let found = pointers(value).map_err(|(place, fault)| {
            let place = place_of(&place);
            self.error(index, key, &place, WorkflowProblem::Pointer { key: label(key, &place), fault })
        })?;
        for (place, pointer) in found {
            let fail = |problem: &dyn Fn(String) -> WorkflowProblem| {
                let place = place_of(&place);
                self.error(index, key, &place, problem(label(key, &place)))
            };
            if matches!(pointer, Pointer::Item { .. }) && !repeats {
                return Err(fail(&|key| WorkflowProblem::NoItem { key, pointer: pointer.clone() }));
            }
            match self.target(index, &pointer) {
                Ok(Some(step)) => need(step),
                Ok(None) => {}
                Err(nowhere) => return Err(fail(&|key| nowhere.problem(key, &pointer))),
            }
        }
        Ok(())
    }

    /// `for_each` is over a list that is not too long, as far as that is known.
    fn check_list(&self, index: usize, value: &Value) -> Result<(), WorkflowError> {
        let Some(Ok(pointer)) = Pointer::of(value) else { return Ok(()) };
        let types = match self.known(index, &pointer, None) {
            Known::Value(Value::Array(items)) if items.len() > ITEMS_MAX => {
                return Err(self.error(index, "for_each", &[], WorkflowProblem::TooManyItems(items.len())));
            }
            Known::Value(value) => Types::of(&value),
            Known::Typed(types) => types,
            Known::Unknown => return Ok(()),
        };
        if !types.is_disjoint(Types::ARRAY) {
            return Ok(());
        }
        let (key, found) = ("for_each".to_owned(), types.to_string());
        let problem = WorkflowProblem::TypeMismatch { key, pointer, found, expected: Types::ARRAY.to_string() };
        Err(self.error(index, "for_each", &[], problem))
    }

    fn check_cycles(&self, needs: &[Vec<usize>]) -> Result<(), WorkflowError> {
        let Some(cycle) = graph::cycle(needs) else { return Ok(()) };
        let shown = graph::shown(cycle.iter().map(|index| self.file.steps[*index].id.0.as_str()));
        let first = cycle.first().copied().unwrap_or_default();
        Err(self.error(first, "needs", &[], WorkflowProblem::Cycle(shown)))
    }

    fn check_outputs(&self) -> Result<(), WorkflowError> {
        for (name, value) in &self.file.outputs {
            let fail = |place: &str, problem: &dyn Fn(String) -> WorkflowProblem| {
                let mut place = names(place);
                place.insert(0, name.clone());
                let mut path = vec![PathPart::Key("outputs")];
                path.extend(place.iter().map(|name| part_of(name)));
                self.file.source.error(&path, None, problem(label("outputs", &place)))
            };
            let found = pointers(value).map_err(|(place, fault)| {
                fail(&place, &|key| WorkflowProblem::Pointer { key, fault: fault.clone() })
            })?;
            for (place, pointer) in found {
                if matches!(pointer, Pointer::Item { .. }) {
                    return Err(fail(&place, &|key| WorkflowProblem::NoItem { key, pointer: pointer.clone() }));
                }
                if let Err(nowhere) = self.target(usize::MAX, &pointer) {
                    return Err(fail(&place, &|key| nowhere.problem(key, &pointer)));
                }
            }
        }
        Ok(())
    }

    /// The step to which a pointer leads, if it leads to one.
    fn target(&self, from: usize, pointer: &Pointer) -> Result<Option<usize>, Nowhere> {
        let (root, repeats, step) = match pointer {
            Pointer::Input { name, .. } => {
                let input = self.file.inputs.get(name).ok_or_else(|| {
                    let known = || self.file.inputs.keys().map(String::as_str);
                    Nowhere::new(PointerPart::Input, name, known)
                })?;
                (input.schema.as_ref(), false, None)
            }
            Pointer::StepOutput { step, .. } => {
                let index = self.step(step)?;
                (self.outputs[index].as_deref(), self.file.steps[index].for_each.is_some(), Some(index))
            }
            Pointer::StepText { step } => return self.step(step).map(Some),
            Pointer::Item { .. } => return self.check_item(from, pointer).map(|()| None),
        };
        let mut tokens = pointer.tokens();
        if repeats {
            // The list of the outputs of its items.
            match tokens.next() {
                Some(token) if token.is_empty() || token.bytes().any(|byte| !byte.is_ascii_digit()) => {
                    return Err(Nowhere::new(PointerPart::Item, &token, std::iter::empty));
                }
                Some(_) => {}
                None => return Ok(step),
            }
        }
        match root {
            Some(root) => check_way(Shape::new(root), tokens).map(|()| step),
            None => Ok(step),
        }
    }

    fn step(&self, id: &StepId) -> Result<usize, Nowhere> {
        self.index.get(id).copied().ok_or_else(|| {
            let (suggestion, known) = self.step_names(id);
            Nowhere { what: PointerPart::Step, name: short(&id.0), suggestion, known }
        })
    }

    fn step_names(&self, near: &StepId) -> (Option<String>, Vec<String>) {
        let names = || self.file.steps.iter().map(|step| step.id.0.as_str());
        (closest(&near.0, names()).map(str::to_owned), offered(names()))
    }

    /// `/item/…` exists in the literal items, or in those that are described.
    fn check_item(&self, index: usize, pointer: &Pointer) -> Result<(), Nowhere> {
        let step: Option<&FileStep> = self.file.steps.get(index);
        let Some(for_each) = step.and_then(|step| step.for_each.as_ref()) else { return Ok(()) };
        match self.items_shape(for_each) {
            Some((document, names)) => {
                let shape = Shape::new(document).follow(names.into_iter()).and_then(Shape::items);
                shape.map_or(Ok(()), |shape| check_way(shape, pointer.tokens()))
            }
            None => Ok(()),
        }
    }

    /// The schema that describes the list of `for_each`, and the way to the list in it.
    fn items_shape(&self, for_each: &Value) -> Option<(&Value, Vec<String>)> {
        let pointer = Pointer::of(for_each)?.ok()?;
        let (root, skip) = match &pointer {
            Pointer::Input { name, .. } => (self.file.inputs.get(name)?.schema.as_ref()?, 0),
            Pointer::StepOutput { step, .. } => {
                let index = *self.index.get(step)?;
                let repeats = self.file.steps[index].for_each.is_some();
                let names = pointer.tokens().count();
                // The list of outputs itself has no schema of its own.
                if repeats && names == 0 {
                    return None;
                }
                (self.outputs[index].as_deref()?, usize::from(repeats))
            }
            Pointer::StepText { .. } | Pointer::Item { .. } => return None,
        };
        Some((root, pointer.tokens().skip(skip).collect()))
    }

    /// What is known of the value of a pointer before anything runs.
    fn known(&self, index: usize, pointer: &Pointer, item: Option<&Value>) -> Known {
        let typed = |types: Option<Types>| types.map_or(Known::Unknown, Known::Typed);
        match pointer {
            Pointer::Input { name, rest } => {
                let Some(input) = self.file.inputs.get(name) else { return Known::Unknown };
                let default = input.default.as_ref().and_then(|default| default.pointer(rest));
                match (default, &input.schema) {
                    (Some(value), _) => Known::Value(value.clone()),
                    (None, Some(schema)) => typed(Shape::new(schema).follow(pointer.tokens()).and_then(Shape::types)),
                    (None, None) => Known::Unknown,
                }
            }
            Pointer::StepOutput { step, .. } => {
                let Some(&step) = self.index.get(step) else { return Known::Unknown };
                let repeats = self.file.steps[step].for_each.is_some();
                let mut tokens = pointer.tokens();
                if repeats && tokens.next().is_none() {
                    return Known::Typed(Types::ARRAY);
                }
                let Some(schema) = self.outputs[step].as_deref() else { return Known::Unknown };
                typed(Shape::new(schema).follow(tokens).and_then(Shape::types))
            }
            Pointer::StepText { step } => {
                let step = self.index.get(step).map(|step| &self.file.steps[*step]);
                let repeats = step.is_some_and(|step| step.for_each.is_some());
                Known::Typed(if repeats { Types::ARRAY } else { Types::STRING })
            }
            Pointer::Item { rest } => {
                if let Some(item) = item {
                    return item.pointer(rest).map_or(Known::Unknown, |value| Known::Value(value.clone()));
                }
                let for_each = self.file.steps.get(index).and_then(|step| step.for_each.as_ref());
                let Some((document, names)) = for_each.and_then(|for_each| self.items_shape(for_each)) else {
                    return Known::Unknown;
                };
                let items = Shape::new(document).follow(names.into_iter()).and_then(Shape::items);
                typed(items.and_then(|items| items.follow(pointer.tokens())).and_then(Shape::types))
            }
        }
    }

    /// The items of a literal list without pointers, as long as there is something left of the budget.
    fn literal_items(&self, index: usize, left: &mut usize) -> Vec<&Value> {
        let step = &self.file.steps[index];
        let Some(Value::Array(items)) = &step.for_each else { return Vec::new() };
        let parts = 1 + step.with.values().map(parts_of).sum::<usize>();
        let plain = items.iter().filter(|item| pointers(item).is_ok_and(|found| found.is_empty()));
        let taken: Vec<&Value> = plain.take(*left / parts).collect();
        *left -= taken.len() * parts;
        taken
    }

    fn plan(self, needs: Vec<Vec<usize>>) -> WorkflowPlan {
        let file = self.file;
        let stem = || Path::new(&file.source.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let steps = file.steps.iter().zip(self.tasks).zip(needs);
        let step = |((step, task), needs): ((&FileStep, Task), Vec<usize>)| WorkflowStep {
            id: step.id.clone(),
            task: task_of(&step.task, &task),
            engines: step.engines.clone(),
            model: step.model.clone(),
            needs: needs.into_iter().map(|need| file.steps[need].id.clone()).collect(),
            with: step.with.clone(),
            for_each: step.for_each.clone(),
            required: step.required,
            timeout_sec: step.timeout_sec,
            retries: step.retries.clone(),
            on_failure: step.on_failure,
            ask: step.ask,
            permission: step.permission,
            workspace: step.workspace,
            output: step.output.clone(),
            checks: step.checks.clone(),
        };
        WorkflowPlan {
            name: file.name.clone().or_else(stem).filter(|name| !name.is_empty()).unwrap_or_else(|| UNNAMED.to_owned()),
            description: file.description.clone(),
            inputs: file.inputs.clone(),
            steps: steps.map(step).collect(),
            outputs: file.outputs.clone(),
            concurrency: file.concurrency,
            timeout_sec: file.timeout_sec,
            origin: None,
        }
    }
}

fn task_of(named: &FileTask, found: &Task) -> StepTask {
    match found {
        Task::Skill(skill) => {
            let (FileTask::Skill(name) | FileTask::Prompt(name) | FileTask::Workflow(name)) = named;
            StepTask::Skill { name: name.clone(), source: skill.source.clone(), hash: skill.hash.clone() }
        }
        Task::Prompt => {
            let (FileTask::Skill(text) | FileTask::Prompt(text) | FileTask::Workflow(text)) = named;
            StepTask::Prompt(text.clone())
        }
        Task::Workflow(nested) => StepTask::Workflow(Box::new(nested.plan.clone())),
    }
}

/// A pointer that leads to nothing.
struct Nowhere {
    what: PointerPart,
    name: String,
    suggestion: Option<String>,
    known: Vec<String>,
}

impl Nowhere {
    fn new<'a, I: Iterator<Item = &'a str>>(what: PointerPart, name: &str, known: impl Fn() -> I) -> Self {
        let suggestion = closest(name, known()).map(str::to_owned);
        Self { what, name: short(name), suggestion, known: offered(known()) }
    }

    fn problem(&self, key: String, pointer: &Pointer) -> WorkflowProblem {
        WorkflowProblem::Nowhere {
            key,
            pointer: pointer.clone(),
            what: self.what,
            name: self.name.clone(),
            suggestion: self.suggestion.clone(),
            known: self.known.clone(),
        }
    }
}

/// No part of the way is certain not to exist.
fn check_way(mut shape: Shape<'_>, tokens: impl Iterator<Item = String>) -> Result<(), Nowhere> {
    for token in tokens {
        match shape.part(&token) {
            ShapePart::Described(part) => shape = part,
            ShapePart::Open => break,
            ShapePart::Nowhere(known) => {
                return Err(Nowhere::new(PointerPart::Field, &token, || known.iter().copied()));
            }
        }
    }
    Ok(())
}

/// What is known of the output of a workflow: it has these fields and no others.
fn shape_of_outputs(outputs: &Map<String, Value>) -> Value {
    let properties: Map<String, Value> = outputs.keys().map(|name| (name.clone(), json!({}))).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn error_at(file: &WorkflowFile, index: usize, key: &str, place: &[String], problem: WorkflowProblem) -> WorkflowError {
    let mut path = vec![PathPart::Key("steps"), PathPart::Index(index), PathPart::Key(key)];
    path.extend(place.iter().map(|name| part_of(name)));
    let step = file.steps.get(index).map(|step| StepLabel::Id(step.id.0.clone()));
    file.source.error(&path, step, problem)
}

/// A number is the place in a list, as far as a line is looked for.
fn part_of(name: &str) -> PathPart<'_> {
    name.parse().map_or(PathPart::Key(name), PathPart::Index)
}

fn parts_of(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(parts_of).sum(),
        Value::Object(fields) => fields.values().map(parts_of).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn does_not_fit(key: String, message: String) -> WorkflowProblem {
    WorkflowProblem::DoesNotFit { key, message: short(&message) }
}

/// One line of bounded length: names and messages come from the file.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, MESSAGE_MAX)
}

impl std::fmt::Debug for PlanContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlanContext")
            .field("folder", &self.folder)
            .field("engines", &self.engines)
            .finish_non_exhaustive()
    }
}
