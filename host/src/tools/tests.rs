//! The tools as a model calls them, over a provider in memory.

use std::time::Duration;

use serde_json::json;

use super::{watches::Watches, *};
use crate::{
    catalog::{Position, Rules},
    provider::{
        Body, Error, EventQueue,
        memory::{Memory, body, live},
    },
};

/// A hang is a failure; nothing else depends on this.
const HANG: Duration = Duration::from_secs(1_000);

pub(super) async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, awaited).await.expect("it hangs")
}

/// A host around one provider, `memory`.
pub(super) struct World {
    pub memory: Arc<Memory>,
    pub catalog: Arc<Catalog>,
    pub subscriptions: Subscriptions,
    pub watches: Watches,
    queue: Arc<EventQueue>,
    pump: tokio::task::JoinHandle<()>,
}

impl World {
    pub async fn new(fill: impl FnOnce(&Memory)) -> Self {
        Self::with_mark(1, fill).await
    }

    pub async fn with_mark(mark: u32, fill: impl FnOnce(&Memory)) -> Self {
        let queue = Arc::<EventQueue>::default();
        let memory = Memory::new(1, &queue, live());
        fill(&memory);
        let catalog = Catalog::new(Duration::from_secs(3), [0; 8]);
        catalog.arrange(false, vec![Position { slot: 1, name: "memory".into(), rules: Rules::default() }]);
        catalog.load(memory.clone(), &memory.announcer).await.unwrap();
        let subscriptions = Subscriptions::new(catalog.clone());
        let pump = tokio::spawn(crate::host::pump(queue.clone(), catalog.clone(), subscriptions.clone()));
        let watches = Watches::new(&subscriptions, Caller::anyone(), mark);
        Self { memory, catalog, subscriptions, watches, queue, pump }
    }

    fn tools(&self) -> Tools {
        Tools::new(self.catalog.clone(), &self.subscriptions, 7)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = &self.queue;
        self.pump.abort();
    }
}

fn fill(memory: &Memory) {
    let mut notes = ResourceInfo::new("notes://today", "today");
    (notes.title, notes.description) = (Some("Notes".into()), Some("What happened ÄRGER today".into()));
    (notes.mime_type, notes.size) = (Some("text/markdown".into()), Some(11));
    memory.insert(notes, Ok(body(Body::Text("the kraken woke".into()))));
    let mut logo = ResourceInfo::new("x://logo", "logo");
    logo.mime_type = Some("image/png".into());
    memory.insert(logo, Ok(body(Body::Blob(Bytes::from_static(b"png")))));
    memory.put("x://log", &"Kraken\n".repeat(10));
    memory.insert(ResourceInfo::new("x://broken", "broken"), Err(Error::Failed("out of ink".into())));
    memory.template(TemplateInfo::new("x://t/{name}", "t"));
}

async fn outcome(tools: &Tools, name: &str, arguments: Value) -> Outcome {
    let raw = RawValue::from_string(arguments.to_string()).unwrap();
    soon(tools.call(&Caller::anyone(), name, Some(&raw))).await.unwrap()
}

async fn ask(tools: &Tools, name: &str, arguments: Value) -> ToolResult {
    match outcome(tools, name, arguments).await {
        Outcome::Done(result) => result,
        Outcome::Waiting(_) => panic!("it waits"),
    }
}

/// The structured part.
async fn get(tools: &Tools, name: &str, arguments: Value) -> Value {
    let result = ask(tools, name, arguments).await;
    assert!(!result.is_error, "{result:?}");
    result.structured.unwrap()
}

/// What an error says.
async fn wrong(tools: &Tools, name: &str, arguments: Value) -> String {
    let result = ask(tools, name, arguments).await;
    assert!(result.is_error && result.structured.is_none(), "{result:?}");
    text(&result)
}

fn text(result: &ToolResult) -> String {
    result.content.iter().filter_map(|content| if let Content::Text(text) = content { Some(&**text) } else { None }).collect()
}

fn uris(structured: &Value) -> Vec<&str> {
    structured["resources"].as_array().unwrap().iter().map(|entry| entry["uri"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_says_the_same_in_all_its_forms() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let result = ask(&tools, LIST_RESOURCES, json!({ "text": "ärger" })).await;
    let notes = json!({ "uri": "notes://today", "name": "today", "title": "Notes", "description": "What happened ÄRGER today",
        "mimeType": "text/markdown", "size": 11, "provider": "memory" });
    assert_eq!(result.structured, Some(json!({ "resources": [notes] })));
    assert_eq!(text(&result), "- notes://today: Notes (text/markdown, 11 bytes) - What happened ÄRGER today\n");
    assert!(matches!(&result.content[1], Content::Link(Link { uri, size: Some(11), .. }) if **uri == *"notes://today"));
}

#[tokio::test(start_paused = true)]
async fn a_list_is_narrowed_by_text_type_and_provider() {
    let world = World::new(fill).await;
    let tools = world.tools();
    for (arguments, expected) in [
        (json!({}), &["notes://today", "x://logo", "x://log", "x://broken"][..]),
        (json!({ "text": "LOG" }), &["x://logo", "x://log"]),
        (json!({ "mime_type": "image/*" }), &["x://logo"]),
        (json!({ "provider": "memory", "text": "broken" }), &["x://broken"]),
        (json!({ "text": "nowhere" }), &[]),
    ] {
        assert_eq!(uris(&get(&tools, LIST_RESOURCES, arguments.clone()).await), expected, "{arguments}");
    }
    let said = wrong(&tools, LIST_RESOURCES, json!({ "provider": "memmory" })).await;
    assert!(said.contains("no provider \"memmory\"; there is memory"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn paging_shows_each_once_whatever_changes_meanwhile_and_no_page_is_empty() {
    let world = World::new(|memory| (0..10).for_each(|n| memory.put(&format!("x://{n}"), ""))).await;
    let tools = world.tools();
    let mut seen = Vec::new();
    let mut arguments = json!({ "limit": 5, "text": "x://" });
    loop {
        let page = get(&tools, LIST_RESOURCES, arguments.clone()).await;
        assert_eq!(page["resources"].as_array().unwrap().len(), 5);
        seen.extend(uris(&page).into_iter().map(str::to_owned));
        world.memory.put(&format!("x://new/{}", seen.len()), "");
        world.memory.announce_list();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let Some(next) = page["nextCursor"].as_str() else { break };
        assert!(page["note"].as_str().unwrap().contains(next), "whoever sees the note alone can go on");
        arguments["cursor"] = next.into();
    }
    assert_eq!(seen, (0..10).map(|n| format!("x://{n}")).collect::<Vec<_>>());
    let said = wrong(&tools, LIST_RESOURCES, json!({ "cursor": "AAAA" })).await;
    assert!(said.contains("call list_resources without it"), "{said}");
    let templates = ask(&tools, LIST_TEMPLATES, json!({ "cursor": arguments["cursor"] })).await;
    assert!(templates.is_error, "a cursor into the one list is none into the other");
}

#[tokio::test(start_paused = true)]
async fn templates_are_listed_with_their_provider() {
    let world = World::new(fill).await;
    let listed = get(&world.tools(), LIST_TEMPLATES, json!({})).await;
    assert_eq!(listed, json!({ "templates": [{ "uriTemplate": "x://t/{name}", "name": "t", "provider": "memory" }] }));
}

#[tokio::test(start_paused = true)]
async fn a_search_wants_all_words_and_ranks_names_first() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "log x" })).await;
    assert_eq!((uris(&found), &found["complete"]), (vec!["x://logo", "x://log"], &json!(true)));
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "today NOTES" })).await;
    assert_eq!(uris(&found), ["notes://today"]);
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "x://t" })).await;
    assert_eq!(found["templates"][0]["uriTemplate"], "x://t/{name}");
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "kraken" })).await;
    assert_eq!((uris(&found), found["note"].as_str().unwrap().contains("in_text")), (vec![], true));
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "x", "limit": 1 })).await;
    assert_eq!((uris(&found).len(), &found["complete"]), (1, &json!(false)));
    assert!(world.memory.calls().iter().all(|call| !call.starts_with("read")), "without in_text nothing is read");
}

#[tokio::test(start_paused = true)]
async fn a_search_in_text_finds_words_in_either_and_passes_over_what_fails() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "kraken notes", "in_text": true })).await;
    assert_eq!((uris(&found), &found["complete"]), (vec!["notes://today"], &json!(true)));
    assert_eq!(found["resources"][0]["snippet"], "the kraken woke");
    let found = get(&tools, SEARCH_RESOURCES, json!({ "query": "kraken", "in_text": true })).await;
    assert_eq!((uris(&found), &found["textsRead"]), (vec!["notes://today", "x://log"], &json!(2)));
    assert!(!world.memory.calls().contains(&"read x://logo".to_owned()), "an image is no text");
}

#[tokio::test(start_paused = true)]
async fn a_search_in_text_is_bounded_in_number_bytes_and_time_and_says_so() {
    let many = World::new(|memory| (0..=IN_TEXT_READS).for_each(|n| memory.put(&format!("x://{n}"), "kraken"))).await;
    let query = json!({ "query": "kraken", "in_text": true, "limit": 200 });
    let found = get(&many.tools(), SEARCH_RESOURCES, query.clone()).await;
    assert_eq!((&found["textsRead"], &found["complete"]), (&json!(IN_TEXT_READS), &json!(false)));

    let large = "x".repeat(IN_TEXT_SIZE - 6) + "kraken";
    let fitting = IN_TEXT_BYTES / IN_TEXT_SIZE;
    let heavy = World::new(|memory| (0..=fitting).for_each(|n| memory.put(&format!("x://{n}"), &large))).await;
    let found = get(&heavy.tools(), SEARCH_RESOURCES, query.clone()).await;
    assert_eq!((uris(&found).len(), &found["complete"]), (fitting, &json!(false)));

    let slow = World::new(|memory| memory.put("x://a", "kraken")).await;
    slow.memory.hold(true);
    let began = tokio::time::Instant::now();
    let found = get(&slow.tools(), SEARCH_RESOURCES, query.clone()).await;
    assert_eq!((began.elapsed(), &found["complete"]), (IN_TEXT_TIME, &json!(false)));
    assert!(found["note"].as_str().unwrap().contains("Not all texts were searched"));

    let too_large = World::new(|memory| memory.put("x://a", &format!("{large}!"))).await;
    assert_eq!(uris(&get(&too_large.tools(), SEARCH_RESOURCES, query).await), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn a_read_gives_text_and_a_failing_one_says_what_to_do() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let read = get(&tools, READ_RESOURCE, json!({ "uri": "notes://today", "offset": 4, "length": 6 })).await;
    assert_eq!(read["contents"], json!([{ "uri": "notes://today", "mimeType": "text/markdown", "text": "kraken" }]));
    assert_eq!((&read["total"], &read["nextOffset"]), (&json!(15), &json!(10)));
    let read = get(&tools, READ_RESOURCE, json!({ "uri": "x://t/deep%20sea" })).await;
    assert_eq!(read["contents"][0]["text"], "name=deep sea\n");
    let image = ask(&tools, READ_RESOURCE, json!({ "uri": "x://logo" })).await;
    assert!(matches!(&image.content[0], Content::Image { mime_type, .. } if mime_type == "image/png"));
    for (uri, said) in [("x://Log", "kind: not-found"), ("nothing", "is no resource URI"), ("x://broken", "provider: memory): out of ink")]
    {
        let text = wrong(&tools, READ_RESOURCE, json!({ "uri": uri })).await;
        assert!(text.contains(said), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn reading_and_then_waiting_misses_nothing_and_is_no_false_alarm() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let token = get(&tools, READ_RESOURCE, json!({ "uri": "x://log" })).await["token"].clone();
    let wait = json!({ "uris": ["x://log"], "token": token, "timeout": 30 });
    let Outcome::Waiting(waiting) = outcome(&tools, WAIT_FOR_UPDATE, wait.clone()).await else {
        panic!("it is the same as when it was read")
    };
    world.memory.update("x://log", "changed");
    let told = soon(waiting.run_to_end()).await.structured.unwrap();
    assert_eq!((&told["status"], &told["changed"]), (&json!("changed"), &json!(["x://log"])));
    assert_eq!(told.get("unsure"), None);

    let token = get(&tools, READ_RESOURCE, json!({ "uri": "notes://today" })).await["token"].clone();
    world.memory.update("notes://today", "while nobody watched");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let told = get(&tools, WAIT_FOR_UPDATE, json!({ "uris": ["notes://today"], "token": token })).await;
    assert_eq!((&told["changed"], &told["unsure"]), (&json!(["notes://today"]), &json!(["notes://today"])));
    let token = &told["token"];
    assert!(matches!(outcome(&tools, WAIT_FOR_UPDATE, json!({ "uris": ["notes://today"], "token": token })).await, Outcome::Waiting(_)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_a_token_whatever_ends_it() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let told = get(&tools, WAIT_FOR_UPDATE, json!({ "uris": ["x://log"], "timeout": 0 })).await;
    assert_eq!((&told["status"], &told["changed"]), (&json!("timeout"), &json!([])));
    assert!(told["token"].is_string());

    let began = tokio::time::Instant::now();
    let wait = json!({ "uris": ["x://log", "x://nowhere"], "timeout": 31_536_000 });
    let Outcome::Waiting(waiting) = outcome(&tools, WAIT_FOR_UPDATE, wait).await else { panic!("nothing changed") };
    assert_eq!((waiting.timeout(), waiting.count()), (LONGEST_TIMEOUT, 2));
    let told = tokio::time::timeout(LONGEST_TIMEOUT + HANG, waiting.run_to_end()).await.unwrap();
    assert_eq!(began.elapsed(), LONGEST_TIMEOUT, "a year is lowered to an hour");
    let told = told.structured.unwrap();
    assert_eq!((&told["status"], &told["unknown"]), (&json!("timeout"), &json!(["x://nowhere"])));

    let Outcome::Waiting(waiting) = outcome(&tools, WAIT_FOR_UPDATE, json!({ "uris": ["x://log"] })).await else {
        panic!("nothing changed")
    };
    assert_eq!(waiting.timeout(), TIMEOUT);
    let told = soon(waiting.run(async {})).await.structured.unwrap();
    assert_eq!((&told["status"], told["token"].is_string()), (&json!("stopping"), true));
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_arguments_is_told_to_the_model() {
    let world = World::new(fill).await;
    let tools = world.tools();
    let many: Vec<_> = (0..=URIS).map(|n| format!("x://{n}")).collect();
    for (name, arguments, said) in [
        (READ_RESOURCE, json!({}), "`uri` is missing"),
        (READ_RESOURCE, json!({ "uri": "x://log", "offset": -1 }), "`offset` must be a whole number"),
        (READ_RESOURCE, json!({ "url": "x://log" }), "no argument `url`; there is `uri`"),
        (READ_RESOURCE, json!([]), "`arguments` must be an object"),
        (LIST_RESOURCES, json!({ "limit": 0 }), "`limit` must be 1 or more"),
        (SEARCH_RESOURCES, json!({ "query": " " }), "`query` is missing"),
        (WAIT_FOR_UPDATE, json!({ "uris": [] }), "array of 1 to 1000 texts"),
        (WAIT_FOR_UPDATE, json!({ "uris": many }), "array of 1 to 1000 texts"),
        (WAIT_FOR_UPDATE, json!({ "uris": "x://log" }), "array of 1 to 1000 texts"),
        (WAIT_FOR_UPDATE, json!({ "uris": ["x://log", "log"] }), "\"log\" is no resource URI"),
        (WAIT_FOR_UPDATE, json!({ "uris": ["x://log"], "timeout": "60" }), "`timeout` must be a number of seconds"),
    ] {
        let text = wrong(&tools, name, arguments.clone()).await;
        assert!(text.contains(said), "{arguments}: {text}");
    }
    assert!(matches!(tools.call(&Caller::anyone(), "read_resources", None).await, Err(UnknownTool)));
}

#[test]
fn each_tool_has_a_schema_says_it_only_reads_and_is_described_in_few_words() {
    let definitions = definitions();
    let names: Vec<_> = definitions.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, [LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE, SEARCH_RESOURCES, WAIT_FOR_UPDATE]);
    for tool in definitions.as_array().unwrap() {
        assert_eq!((&tool["inputSchema"]["type"], &tool["inputSchema"]["additionalProperties"]), (&json!("object"), &json!(false)));
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert!(tool["description"].as_str().unwrap().len() < 400, "{}", tool["name"]);
        assert_eq!(tool.get("outputSchema").is_some(), tool["name"] != READ_RESOURCE, "a result with an image has no structured part");
    }
}
