//! Questions of the engine inside a turn, as the code that runs the attempt receives them.

use skillrun_evidence::FeedStep;
use skillrun_evidence::feed::StepKind;
use skillrun_model::rasp::{Data, EvidenceData};
use skillrun_model::status::Phase;
use skillrun_model::{AttemptNumber, ProfileId, Stream, Timestamp};
use skillrun_translate::AttemptPipeline;

use crate::coverage::assert_covered;
use crate::run::{builder, read_whole};

const ASKED: &str = concat!(
    r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","#,
    r#""tool_name":"Ba\u001b[31msh","input":{"command":"rm -rf build"}}}"#,
    "\n"
);
const WITHDRAWN: &str = concat!(r#"{"type":"control_cancel_request","request_id":"r1"}"#, "\n");
const ENDED: &str = concat!(r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#, "\n");

#[test]
fn a_question_can_be_fetched_as_soon_as_its_line_is_whole() {
    let mut builder = builder();
    let mut pipeline = AttemptPipeline::new(AttemptNumber(1), ProfileId::ClaudeStreamJson, Timestamp::EPOCH);
    let (begun, rest) = ASKED.split_at(40);
    let mut read = |text: &str| {
        let kind = StepKind::Bytes { stream: Stream::Stdout, bytes: text.as_bytes() };
        pipeline.step(&FeedStep { t_ns: 1, kind }, &mut builder, drop);
        let questions = pipeline.take_questions().into_iter();
        let told = questions.map(|asked| (asked.call_id, asked.tool, asked.input.map(|input| input.to_string())));
        (told.collect::<Vec<_>>(), pipeline.take_withdrawn())
    };
    assert_eq!(read(begun), (vec![], vec![]));
    // As the engine sent it: the answer repeats it.
    let asked = ("r1".to_owned(), "Ba\u{1b}[31msh".to_owned(), Some(r#"{"command":"rm -rf build"}"#.to_owned()));
    assert_eq!(read(rest), (vec![asked], vec![]));
    assert_eq!(read(""), (vec![], vec![]));
    assert_eq!(read(WITHDRAWN), (vec![], vec!["r1".to_owned()]));
    assert_eq!(read(&[ASKED, WITHDRAWN].concat()), (vec![], vec![]));
}

#[test]
fn a_question_is_shown_as_work_and_changes_nothing_else() {
    let asked = [ASKED, WITHDRAWN, ENDED].concat();
    let told = read_whole(ProfileId::ClaudeStreamJson, asked.as_bytes(), b"");
    assert_covered(&told, asked.as_bytes(), b"");
    let details: Vec<_> = told
        .events
        .iter()
        .filter_map(|event| {
            let Data::Evidence(EvidenceData::RunStatus(said)) = &event.data else { return None };
            Some((said.phase, said.detail.as_deref()))
        })
        .take(2)
        .collect();
    let working = |detail| (Some(Phase::Working), Some(detail));
    assert_eq!(details, [working("asks for permission to use Bash"), working("withdraws a question")]);
    let told_end = |stdout: &str| {
        let facts = read_whole(ProfileId::ClaudeStreamJson, stdout.as_bytes(), b"").facts;
        let message = facts.messages.into_iter().map(|message| (message.text, message.after_tool));
        (facts.end.map(|end| end.kind), message.collect::<Vec<_>>(), facts.parse.unknown, facts.error)
    };
    assert_eq!(told_end(&asked), told_end(ENDED));
}

#[test]
fn an_elicitation_is_shown_as_such() {
    let asked = r#"{"id":1,"method":"elicitation/create","params":{"mode":"form","message":"Which?"}}"#;
    let told = read_whole(ProfileId::AcpJsonrpc, asked.as_bytes(), b"");
    let details = told.events.iter().filter_map(|event| {
        let Data::Evidence(EvidenceData::RunStatus(said)) = &event.data else { return None };
        said.detail.as_deref()
    });
    assert_eq!(details.collect::<Vec<_>>(), ["asks the user for information"]);
}
