//! The words of each format: what a reader of it looks for, and what it should not take for that.
//!
//! Words are separated by white space. `\n`, `\r`, `\t`, `\0`, `\\` and `\x20` are as in Rust.

/// The words of one of the lists below, as bytes.
pub(crate) fn bytes(list: &str) -> Vec<Vec<u8>> {
    list.split_whitespace().map(unescaped).collect()
}

/// The same as texts, and the empty one.
pub(crate) fn texts(list: &str) -> Vec<String> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("a text");
    bytes(list).into_iter().map(text).chain([String::new()]).collect()
}

/// Words without escapes.
pub(crate) fn list(words: &str) -> Vec<&str> {
    words.split_whitespace().collect()
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        bytes.extend(plain.bytes());
        let (byte, length) = match escaped.as_bytes()[0] {
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            b'0' => (0, 1),
            b'\\' => (b'\\', 1),
            b'x' => (u8::from_str_radix(&escaped[1..3], 16).expect("two digits"), 3),
            other => panic!("{word}: there is no escape {}", other.escape_ascii()),
        };
        bytes.push(byte);
        rest = &escaped[length..];
    }
    bytes.extend(rest.bytes());
    bytes
}

/// JSON as engines write it, and what terminals understand.
pub(crate) const STREAMS: &str = r##"
    { } [ ] " \\ \\" \n \r\n \r \0 \x1b[31m \x1b]0; \x07 \x1b \xff \xef\xbb\xbf \xe6\xbc \xf0\x9f\x99\x82 \\ud800
    \\udc00 \\ud83d\\ude42 \\u0000 \\u005f\\u005fSKILL_DONE__ __SKILL_DONE__ "__SKILL_DONE__":\x20true
    {"__SKILL_DONE__":true} {\\"__SKILL_DONE__\\":true} ``` ```json\n ~~~ <ASK_USER_YAML> </ASK_USER_YAML> ask_user:
    {"ask_user":{"kind":"confirm","prompt":"?"}} null true -0 1e999 1e-999 0.1 18446744073709551616
    9223372036854775807 -9223372036854775808 , : "type":" "id": "text":" "content": "session_id":" "sessionID":"
    "thread_id":" "usage": {"type":"turn.completed"}\n
    {"type":"turn.failed","error":{"message":"429\x20rate\x20limit"}}\n
    {"type":"result","subtype":"success","is_error":false,"result":""}\n "parent_tool_use_id":"
    {"jsonrpc":"2.0","id":"prompt.1","result":{"stopReason":"end_turn"}}\n "method":"session/update"
    {"type":"step_finish","part":{"reason":"stop"}}\n <Execution\x20Info> </Execution\x20Info> session-id
    try\x20again\x20at\x20 retry-after:\x209999999999999999999 resets\x2023:59 Error:\x20 \xe2\x80\xa8 \xc2\x85
"##;

/// JSON as written by hand.
pub(crate) const JSON: &str = r##"
    { } [ ] " : , \\ \\u0000 \\ud800 null true false 0 -1 1e999 4294967296 18446744073709551616 0.5 "" {} [] \n \0
    \xff \xef\xbb\xbf ../ .. /etc/passwd \\\\ C: {{ }} {{input}} {{input. {{file.x}} {{nothing}} {{skill_name}}
    "common":" "codex":" "prompts":{ "entrypoint":{ "schemas":{ "output":" "input":" "max_attempt":
    "execution_modes":[ "auto" "interactive" "engines":[ "unsupported_engines":[ "artifacts":[ "pattern":" ** * [!
    "required": "runtime_options":{ "default_decision_policy":" safe_default abort "id": "version":
"##;

pub(crate) const YAML: &str = r##"
    ---\n ...\n -\x20 ?\x20 :\x20 :\n &a\x20 *a &b\x20[*a,\x20*a,\x20*a,\x20*a] <<:\x20*a <<:\x20[*a,\x20*a] !!int\x20
    !!binary\x20 !!python/object\x20 !<tag:x>\x20 ! | > |+9\n >-\n\x20\x20 ' " \\x00 \\uD800 { } [ ] , [[[[[[[[
    {a:\x20{a:\x20{a:\x20 %YAML\x201.2\n %TAG\x20!\x20!\n # \n \r\n \r \t \x20\x20 \n\x20\x20 \n\x20\x20\x20\x20-\x20
    ~ null .nan .inf -.INF 0x7fffffffffffffffff 0o17 1_000 1e999 yes no 2001-12-14 name:\x20 description:\x20
    ask_user:\n\x20\x20 kind:\x20choose_one\n prompt:\x20 options:\n\x20\x20-\x20 default:\x20yes ui_hints:\x20
    say:\x20 -\x20-\x20say:\x20 output:\x20{ done:\x20true tool:\x20{ flood:\x20 sleep_ms:\x20 exit:\x20
    crash:\x20SIGKILL cut:\x20- session:\x20 turns:\x20 write:\x20{path:\x20../x,\x20content:\x20y}
    expect:\n\x20\x20\x20\x20 replies:\n\x20\x20\x20\x20-\x20 to:\x20(a+)+$ input:\x20{ status:\x20 \xef\xbb\xbf \0
    \xe2\x80\xa8
"##;

pub(crate) const TOML: &str = r##"
    [ ] [[ ]] { } = " """ ' ''' \\ \\u0000 \\UFFFFFFFF # , . \n \r \t true nan inf -0 1979-05-27T07:32:00Z
    9223372036854775807 9223372036854775808 0x 1e999 1_0 \0 name\x20=\x20 argv\x20=\x20[ {{prompt}} {{ }}
    {{prompt_flags}} {{home}} {{gateway:json}} {{session_id}} .. / ~/ [start]\n [resume]\n [prompt]\n
    [permission.workspace]\n posture\x20=\x20"enforced"\n [environment]\n set\x20=\x20{\x20HOME\x20=\x20"x"\x20}\n
    [process]\n ladder\x20=\x20[{\x20signal\x20=\x20"SIGKILL",\x20pause_ms\x20=\x200\x20}]\n pause_ms\x20=\x20
    signal\x20=\x20 files\x20=\x20[ [login]\n [slots]\n total\x20=\x20 a.b.c.d\x20=\x201\n
    slots.engines.codex\x20=\x20 [server]\n listen\x20=\x20 redact\x20=\x20["(a+)+"]\n redact\x20=\x20[" (
    hosts\x20=\x20[ max_gb\x20=\x20 \xff \xef\xbb\xbf
"##;

/// What the reader of a zip file looks for.
pub(crate) const ZIP: &str = r##"
    PK\x01\x02 PK\x03\x04 PK\x05\x06 PK\x06\x06 PK\x06\x07 PK\x07\x08 \0\0 \xff\xff \0\0\0\0 \xff\xff\xff\xff \x01\0
    \x08\0 \t\0 c\0 \x80\0 UT\t\0 up ../ .. / \\ SKILL.md skill/ x/../ \x01\0\x10\0 \0\0\0\x80 \x01\x99\x07\0
"##;

/// Lines of a Log and of a chunk index.
pub(crate) const LINES: &str = r##"
    \n \n\n \r\n { } " \\ \0 \xff "seq": "seq":1, "seq":18446744073709551615, "seq":-1, "seq":2.0, "run_id":" "ts":"
    1970-01-01T00:00:00Z 9999-12-31T23:59:59.999999Z "type":" {} null [] , :
    {"i":0,"t_ns":1,"stream":"stdout","from":0,"to":9,"batch":0}\n {"i":1,"t_ns":2,"eof":"stdout"}\n "eof":"stderr"
    {"i":2,"t_ns":3,"act":"hard_timeout"}\n {"t":1e300,"s":"stdout","n":9}\n
    {"t":-1,"s":"pty","n":18446744073709551615}\n "from":18446744073709551615 "to":18446744073709551615
    "from":5,"to":2 "stream":"pty" "t_ns":18446744073709551615 {"stream":"stdout","from":0,"to":5}\n
    {"stream":"stderr","from":3,"to":18446744073709551615}\n
"##;

pub(crate) const HTTP: &str = r##"
    \r\n \r\n\r\n \n \r \0 \x20 \t : GET\x20 POST\x20 DELETE\x20 OPTIONS\x20 HEAD\x20 CONNECT\x20
    PRI\x20*\x20HTTP/2.0\r\n\r\nSM\r\n\r\n \x20HTTP/1.1 \x20HTTP/1.0 \x20HTTP/2.0 \x20HTTP/9.9 Host:\x20127.0.0.1\r\n
    Host:\x20evil.example.org\r\n Content-Length:\x20 Content-Length:\x205\r\n Content-Length:\x20-1\r\n
    Content-Length:\x2018446744073709551615\r\n Transfer-Encoding:\x20chunked\r\n
    Transfer-Encoding:\x20gzip,\x20chunked\r\n 0\r\n\r\n 5\r\nhello\r\n ffffffffffffffff\r\n
    Expect:\x20100-continue\r\n Connection:\x20upgrade\r\nUpgrade:\x20websocket\r\n Connection:\x20close\r\n
    Content-Encoding:\x20gzip\r\n Content-Type:\x20application/json\r\n
    Content-Type:\x20multipart/form-data;\x20boundary=\r\n Content-Type:\x20multipart/form-data;\x20boundary=B\r\n
    --B\r\n --B--\r\n Content-Disposition:\x20form-data;\x20name=" ;\x20filename="../../x"
    Range:\x20bytes=0-18446744073709551615\r\n Range:\x20bytes=5-2,-1\r\n Last-Event-ID:\x20 Idempotency-Key:\x20k\r\n
    Origin:\x20http://evil.example.org\r\n Cookie:\x20session=x\r\n Authorization:\x20Bearer\x20\r\n
    Authorization:\x20Basic\x20eDp5\r\n X:\x20 %00 %2e%2e%2f %ff % .. / // ? # & = * \xff\xfe \\ \xf0\x9f\x99\x82 { }
    [ ] " {"skill":"plain","engine":"scripted"} null 1e999 \\ud800 18446744073709551616 -1 cursor= wait=
"##;

/// What is said over the sockets of hosts and owners.
pub(crate) const SOCKETS: &str = r##"
    \n \r\n { } " \\ \0 \xff , : null true -1 0 2 1e999 18446744073709551616 "do":" "do": "ladder":[] "ladder":5
    {"skillrun_owner":1}\n {"skillrun_owner":2}\n {"skillrun_owner":"1"}\n {"skillrun_owner":1.0}\n
    {"skillrun_client":2, "skillrun_client": {"do":"cancel"}\n {"do":"Cancel"}\n {"do":["cancel"]}\n
    {"do":{"cancel":{}}}\n {"DO":"cancel"}\n {"do":"close_stdin"}\n {"do":"next_attempt","attempt":2}\n
    {"do":"next_attempt","attempt":-2}\n {"do":"turn_over","linger":{"secs":0,"nanos":0}}\n
    {"do":"wait","deadline":{"secs":0,"nanos":0}}\n
    {"do":"wait","deadline":{"secs":18446744073709551615,"nanos":999999999}}\n {"do":"input","id":"1","hex":"zz"}\n
    {"do":"input","id":"","text":"x"}\n {"do":"detach"}\n {"do":"go_on"}\n {"do":"start"}\n {"do":"hello"}\n "run":"
    "reply":{ "by":"
"##;
