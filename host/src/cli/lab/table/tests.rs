use serde_json::json;

use super::*;

const DELAY: Duration = Duration::from_secs(5);

struct Bench {
    table: Table,
    connection: Connection,
    lines: Vec<String>,
    verdicts: Vec<Verdict>,
    updates: usize,
}

impl Bench {
    fn new(connection: Connection) -> Self {
        Self { table: Table::new(DELAY), connection, lines: Vec::new(), verdicts: Vec::new(), updates: 0 }
    }

    fn take(&mut self, what: What) {
        let told = self.table.take(Event { connection: self.connection.clone(), at: Instant::now(), what });
        self.keep(told);
    }

    fn keep(&mut self, Told { lines, verdicts, updates }: Told) {
        self.lines.extend(lines);
        self.verdicts.extend(verdicts);
        self.updates += updates;
    }

    /// A request, and its answer.
    fn ask(&mut self, id: u64, method: &str, params: Value, result: Value) {
        self.take(What::Received(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
        self.take(What::Sent(json!({ "jsonrpc": "2.0", "id": id, "result": result })));
    }

    fn initialize(&mut self) {
        let params = json!({ "protocolVersion": "2026-01-01", "clientInfo": { "name": "a", "version": "1" } });
        self.ask(0, "initialize", params, json!({ "protocolVersion": "2025-11-25" }));
    }

    fn read(&mut self, version: u64) {
        let text = json!({ "status": "s", "version": version }).to_string();
        self.ask(2, "resources/read", json!({ "uri": URI }), json!({ "contents": [{ "uri": URI, "text": text }] }));
    }

    fn updated(&mut self) {
        self.take(What::Sent(json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": URI } })));
    }

    async fn pass(&mut self, time: Duration) {
        tokio::time::advance(time).await;
        let told = self.table.tick(Instant::now());
        self.keep(told);
    }
}

fn client() -> Connection {
    Connection::Client { name: "a".into(), version: "1".into(), peer: None }
}

fn meta() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "a", "version": "1" } })
}

fn listen(bench: &mut Bench, id: u64, uris: &[&str]) {
    let params = json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": uris } });
    bench.take(What::Received(json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })));
    let params = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id }, "notifications": { "resourceSubscriptions": uris } });
    bench.take(What::Sent(json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params })));
}

#[tokio::test(start_paused = true)]
async fn a_session_through_a_full_round_gets_the_lines_and_the_verdict() {
    let mut bench = Bench::new(Connection::Session("s".into()));
    bench.initialize();
    bench.take(What::Received(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })));
    bench.ask(1, "resources/list", json!({}), json!({ "resources": [] }));
    bench.read(1);
    bench.ask(3, "resources/subscribe", json!({ "uri": URI }), json!({}));
    bench.pass(DELAY - Duration::from_millis(1)).await;
    assert_eq!(bench.updates, 0);
    bench.pass(Duration::from_millis(1)).await;
    assert_eq!(bench.updates, 1);
    bench.updated();
    bench.read(2);
    bench.ask(4, "resources/unsubscribe", json!({ "uri": URI }), json!({}));
    bench.take(What::Ended);
    let expected = [
        "[initialize] client=a version=1 protocol=2026-01-01",
        "[notifications/initialized]",
        "[resources/list] requested",
        "[resources/read] uri=test://review/status version=1",
        "[resources/subscribe] uri=test://review/status",
        "[notification/send] notifications/resources/updated uri=test://review/status",
        "[resources/read] uri=test://review/status version=2",
        "[resources/unsubscribe] uri=test://review/status",
    ];
    assert_eq!(bench.lines, expected.map(|line| format!("{line} connection=1")));
    let [verdict] = &bench.verdicts[..] else { panic!("{:?}", bench.verdicts) };
    assert!(verdict.full_round, "{verdict:?}");
    assert_eq!((verdict.era, &*verdict.protocol, verdict.ended), ("legacy", "2025-11-25", End::Closed));
    assert_eq!(verdict.client, Client { name: "a".into(), version: "1".into() });
    assert!(verdict.text().ends_with("verdict: a full round\n"));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_only_lists_gets_a_verdict_that_says_what_is_missing() {
    let mut bench = Bench::new(Connection::Session("s".into()));
    bench.initialize();
    bench.ask(1, "resources/list", json!({}), json!({ "resources": [] }));
    bench.pass(IDLE * 2).await;
    assert_eq!(bench.verdicts, [], "a session has an end of its own");
    bench.verdicts = bench.table.conclude();
    assert_eq!(bench.verdicts[0].missing, ["read", "subscribe", "notified", "read again", "unsubscribe"]);
    assert_eq!(bench.verdicts[0].ended, End::Open);
    assert!(bench.verdicts[0].text().contains("not seen: read, subscribe"));
}

#[tokio::test(start_paused = true)]
async fn a_modern_client_ends_30_seconds_after_its_last_request_and_its_last_listen() {
    let mut bench = Bench::new(client());
    bench.ask(1, "resources/list", json!({ "_meta": meta() }), json!({ "resources": [] }));
    listen(&mut bench, 7, &[URI]);
    bench.pass(IDLE * 2).await;
    assert_eq!((bench.updates, &bench.verdicts[..]), (1, &[][..]), "it listens");
    bench.updated();
    bench.take(What::Closed(Some("7".into())));
    bench.pass(IDLE - Duration::from_millis(1)).await;
    assert_eq!(bench.verdicts, []);
    bench.pass(Duration::from_millis(1)).await;
    let [verdict] = &bench.verdicts[..] else { panic!("{:?}", bench.verdicts) };
    assert_eq!((verdict.era, &*verdict.protocol, verdict.ended), ("modern", "2026-07-28", End::Idle));
    assert_eq!(verdict.missing, ["read", "read again"]);
    assert_eq!(bench.table.due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_listen_over_stdio_ends_by_being_cancelled() {
    let mut bench = Bench::new(Connection::Pipe(1));
    listen(&mut bench, 7, &[URI]);
    listen(&mut bench, 8, &[]);
    bench.take(What::Received(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 8 } })));
    let taken = |bench: &mut Bench| bench.table.seats[0].round.taken().iter().map(|(step, _)| step.name()).collect::<Vec<_>>();
    assert_eq!(taken(&mut bench), ["subscribe"]);
    bench.take(What::Received(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } })));
    assert_eq!(taken(&mut bench), ["subscribe", "unsubscribe"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_no_step() {
    let mut bench = Bench::new(Connection::Pipe(1));
    bench.initialize();
    bench.take(What::Received(json!({ "jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": { "uri": "test://x" } })));
    let error = json!({ "code": -32002, "message": "Resource not found" });
    bench.take(What::Sent(json!({ "jsonrpc": "2.0", "id": 5, "error": error })));
    assert_eq!(bench.lines.last().unwrap(), "[resources/read] uri=test://x error=-32002 Resource not found connection=1");
    assert_eq!(bench.table.seats[0].round.taken(), []);
}

#[tokio::test(start_paused = true)]
async fn each_client_that_subscribes_gets_an_update_of_its_own() {
    let mut bench = Bench::new(Connection::Session("one".into()));
    for session in ["one", "two"] {
        bench.connection = Connection::Session(session.into());
        bench.initialize();
        for id in [3, 4] {
            bench.ask(id, "resources/subscribe", json!({ "uri": URI }), json!({}));
        }
        bench.pass(Duration::from_secs(1)).await;
    }
    bench.pass(DELAY).await;
    assert_eq!(bench.updates, 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_there_is_no_connection() {
    let mut bench = Bench::new(Connection::Session("old".into()));
    bench.ask(1, "resources/list", json!({}), json!({}));
    bench.take(What::Ended);
    assert_eq!((bench.table.conclude(), &bench.verdicts[..]), (vec![], &[][..]));
}

#[tokio::test(start_paused = true)]
async fn past_1024_requests_without_an_answer_the_older_ones_are_forgotten() {
    let mut bench = Bench::new(Connection::Session("one".into()));
    bench.initialize();
    let asks = |id: usize| What::Received(json!({ "jsonrpc": "2.0", "id": id, "method": "resources/list", "params": {} }));
    for id in 1..=PENDING {
        bench.take(asks(id));
    }
    assert_eq!(bench.table.seats[0].pending.len(), PENDING);
    bench.take(asks(PENDING + 1));
    assert_eq!(bench.table.seats[0].pending.len(), 1);
    let answered = |id: usize| What::Sent(json!({ "jsonrpc": "2.0", "id": id, "result": { "resources": [] } }));
    bench.take(answered(1));
    assert_eq!(bench.table.seats[0].round.taken(), [], "what was forgotten is no step");
    bench.take(answered(PENDING + 1));
    assert_eq!(bench.table.seats[0].round.taken().len(), 1);
}
