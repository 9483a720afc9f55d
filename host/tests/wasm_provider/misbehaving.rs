//! Those that misbehave, and what it costs them.

use std::time::Duration;

use wharf::provider::{Error, Provider, Updated, wasm::Limits};

use super::support::{LONG, SHORT, hostile, run, text};

#[tokio::test]
async fn a_trap_costs_the_instance_and_a_fresh_one_follows() {
    let hostile = hostile().await;
    assert_eq!(hostile.text("hostile://count").await, "1");
    assert_eq!(hostile.text("hostile://count").await, "2");
    let error = hostile.read("hostile://trap").await.unwrap_err();
    assert!(matches!(&error, Error::Trapped(how) if how.contains("unreachable")), "{error:?}");
    let event = hostile.events.try_recv();
    assert!(event.as_ref().is_some_and(|event| event.down), "its death is announced before it is answered");
    if event.is_some_and(|event| !event.up) {
        hostile.event(|event| event.up).await;
    }
    assert_eq!(hostile.text("hostile://count").await, "1");
    let error = hostile.read("hostile://exit").await.unwrap_err();
    assert!(matches!(&error, Error::Trapped(how) if how.contains("exit status")), "{error:?}");
}

#[tokio::test]
async fn a_loop_and_an_endless_sleep_end_at_the_deadline() {
    for uri in ["hostile://loop", "hostile://sleep"] {
        let hostile = hostile().await;
        assert_eq!(hostile.read(uri).await, Err(Error::DeadlineExceeded(SHORT)), "{uri}");
        assert_eq!(hostile.back("hostile://ok").await, "ok");
    }
}

#[tokio::test]
async fn a_list_that_traps_or_loops_says_so() {
    let looping = run("hostile", &[("list", "loop")], Limits { deadline: SHORT, ..LONG }).await;
    assert_eq!(looping.provider.list(None).await, Err(Error::DeadlineExceeded(SHORT)));
    let trapping = run("hostile", &[("list", "trap")], LONG).await;
    assert!(matches!(trapping.provider.list(None).await, Err(Error::Trapped(_))));
}

#[tokio::test]
async fn a_subscribe_that_traps_or_loops_says_so() {
    let hostile = hostile().await;
    assert!(matches!(hostile.provider.subscribe("hostile://trap".into(), None).await, Err(Error::Trapped(_))));
    hostile.event(|event| event.up).await;
    assert_eq!(hostile.provider.subscribe("hostile://loop".into(), None).await, Err(Error::DeadlineExceeded(SHORT)));
}

#[tokio::test]
async fn a_guest_that_keeps_dying_is_unavailable_for_a_while_and_says_for_how_long() {
    let hostile = hostile().await;
    // Each pause is twice the one before it, so in the end a read meets one, however slow the machine.
    let left = loop {
        match hostile.read("hostile://trap").await {
            Err(Error::Trapped(_)) => {}
            Err(Error::Unavailable { retry_after, .. }) => break retry_after.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert!(left <= Duration::from_secs(30));
    assert_eq!(hostile.back("hostile://ok").await, "ok");
}

#[tokio::test]
async fn endless_allocation_ends_at_the_memory_limit_which_the_error_names() {
    let hostile = run("hostile", &[], Limits { memory: 32 << 20, ..LONG }).await;
    let error = hostile.read("hostile://allocate").await.unwrap_err();
    assert!(matches!(&error, Error::Trapped(how) if how.contains("32 MiB") && how.contains("[provider.limits] memory")), "{error:?}");
    assert_eq!(hostile.back("hostile://ok").await, "ok");
}

#[tokio::test]
async fn an_answer_over_16_mib_fails_and_costs_nothing_else() {
    let hostile = run("hostile", &[], LONG).await;
    assert_eq!(text(&hostile.read("hostile://big/16777216").await.unwrap()).len(), 16 << 20);
    let too_large = Err(Error::Failed("the provider's answer is larger than 16 MiB".into()));
    assert_eq!(hostile.read("hostile://big/16777217").await, too_large);
    assert_eq!(hostile.read("hostile://big/33554432").await, too_large);
    assert_eq!(hostile.text("hostile://count").await, "4", "it is still the same instance");
    assert!(hostile.events.try_recv().is_none());
    assert_eq!(hostile.read("hostile://huge").await, too_large);
}

#[tokio::test]
async fn an_import_given_too_much_costs_the_instance() {
    let hostile = run("hostile", &[], LONG).await;
    let error = hostile.read("hostile://announce-huge").await.unwrap_err();
    assert!(matches!(error, Error::Trapped(_)), "{error:?}");
    assert_eq!(hostile.back("hostile://count").await, "1");
}

#[tokio::test]
async fn a_text_that_is_not_utf8_fails_and_costs_nothing_else() {
    let hostile = hostile().await;
    assert!(matches!(hostile.read("hostile://bad-utf8").await, Err(Error::Failed(_))));
    assert_eq!(hostile.text("hostile://count").await, "2");
}

#[tokio::test]
async fn a_list_of_100_000_on_one_page_is_too_large_and_costs_nothing_else() {
    let hostile = run("hostile", &[("list", "huge")], LONG).await;
    assert_eq!(hostile.provider.list(None).await, Err(Error::Failed("the provider's answer is larger than 16 MiB".into())));
    assert_eq!(hostile.text("hostile://count").await, "1");
    assert!(hostile.events.try_recv().is_none());
}

#[tokio::test]
async fn a_log_flood_and_an_endless_line_hold_nobody_up() {
    let hostile = run("hostile", &[], LONG).await;
    assert_eq!(hostile.text("hostile://flood").await, "flooded");
    assert_eq!(hostile.text("hostile://long-line").await, "written");
}

#[tokio::test]
async fn what_is_announced_and_is_no_uri_is_dropped() {
    let hostile = hostile().await;
    hostile.text("hostile://announce").await;
    let event = hostile.events.try_recv().unwrap();
    assert_eq!(event.updated, Updated::These(["other://thing".into(), "wharf://state/x".into(), "hostile://ok".into()].into()));
}

#[tokio::test]
async fn timers_past_the_limit_and_names_out_of_bounds_are_refused() {
    let hostile = run("hostile", &[], LONG).await;
    let names = hostile.text("hostile://timer-names").await;
    assert_eq!((names.matches("Invalid").count(), names.matches("Ok").count()), (2, 1), "{names}");
    assert_eq!(hostile.text("hostile://timers").await, "1023");
}

#[tokio::test]
async fn a_trap_in_a_timer_costs_the_instance_and_its_timers() {
    let hostile = run("hostile", &[], LONG).await;
    hostile.text("hostile://timer-trap").await;
    let event = hostile.event(|event| event.down).await;
    if !event.up {
        hostile.event(|event| event.up).await;
    }
    assert_eq!(hostile.text("hostile://timers").await, "1024");
}
