//! What the lab serves and where: flags first, then environment variables, then the defaults.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};

/// That of `wharf serve`.
const PORT: u16 = 8089;
/// Long enough for a client to subscribe, and for a person to see that nothing has happened yet.
const DELAY: Duration = Duration::from_secs(5);
/// A client is not waited for any longer than this.
const LONGEST_DELAY: f64 = 86_400.0;
const INITIAL: &str = "pending";
const UPDATED: &str = "reviewed";

/// The flags that have an environment variable each.
#[derive(clap::Args, Default)]
pub(super) struct Flags {
    /// The port; 0 takes a free one [env: MCP_TEST_PORT] [default: 8089]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "IP")]
    host: Option<IpAddr>,
    /// A second path for the endpoint; /mcp is always served [env: MCP_TEST_PATH]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Seconds from a client's first subscription to the update [env: MCP_TEST_UPDATE_DELAY_SECONDS] [default: 5]
    #[arg(long, value_name = "SECONDS")]
    delay: Option<f64>,
    /// The status of version 1 [env: MCP_TEST_INITIAL_STATUS] [default: pending]
    #[arg(long, value_name = "STATUS")]
    initial_status: Option<String>,
    /// The status from version 2 on [env: MCP_TEST_UPDATED_STATUS] [default: reviewed]
    #[arg(long, value_name = "STATUS")]
    updated_status: Option<String>,
    /// With each update, the list changes too: the resource's description names its status [env: MCP_TEST_SEND_LIST_CHANGED]
    #[arg(long)]
    list_changed: bool,
}

/// The settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub address: SocketAddr,
    /// Besides `/mcp`.
    pub path: Option<String>,
    pub delay: Duration,
    pub initial: String,
    pub updated: String,
    pub list_changed: bool,
}

impl Settings {
    /// `env` gives the value of an environment variable; an empty one counts as not set.
    pub(super) fn read(flags: Flags, env: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let Flags { port, host, path, delay, initial_status, updated_status, list_changed } = flags;
        let port = match port {
            Some(port) => port,
            None => parsed(env, "MCP_TEST_PORT", "a port, such as 8089")?.unwrap_or(PORT),
        };
        let seconds: Option<f64> = match delay {
            Some(delay) => Some(delay),
            None => parsed(env, "MCP_TEST_UPDATE_DELAY_SECONDS", "seconds, such as 5")?,
        };
        let path = path.or_else(|| env("MCP_TEST_PATH"));
        if let Some(path) = path.as_ref().filter(|path| !is_path(path)) {
            bail!("{path:?} is no path for the endpoint: it begins with a slash and has no `?`, `#` or white space, such as /test");
        }
        let list_changed = list_changed
            || match env("MCP_TEST_SEND_LIST_CHANGED").map(|value| value.to_ascii_lowercase()).as_deref() {
                None | Some("0" | "false" | "no" | "off") => false,
                Some("1" | "true" | "yes" | "on") => true,
                Some(other) => bail!("MCP_TEST_SEND_LIST_CHANGED is {other:?}: it must be true or false"),
            };
        Ok(Self {
            address: SocketAddr::new(host.unwrap_or(Ipv4Addr::LOCALHOST.into()), port),
            path,
            delay: seconds.map_or(Ok(DELAY), delay_of)?,
            initial: initial_status.or_else(|| env("MCP_TEST_INITIAL_STATUS")).unwrap_or_else(|| INITIAL.into()),
            updated: updated_status.or_else(|| env("MCP_TEST_UPDATED_STATUS")).unwrap_or_else(|| UPDATED.into()),
            list_changed,
        })
    }
}

fn parsed<T: std::str::FromStr>(env: impl Fn(&str) -> Option<String>, name: &str, what: &str) -> Result<Option<T>> {
    let Some(value) = env(name) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| anyhow!("{name} is {value:?}: it must be {what}"))
}

fn delay_of(seconds: f64) -> Result<Duration> {
    if !(0.0..=LONGEST_DELAY).contains(&seconds) {
        bail!("a delay of {seconds} s: it must be from 0 to {LONGEST_DELAY} s");
    }
    Duration::try_from_secs_f64(seconds).context("the delay")
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flags: Flags, env: &[(&str, &str)]) -> Result<Settings> {
        Settings::read(flags, |name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn without_a_word_it_is_as_the_defaults_say() {
        let settings = read(Flags::default(), &[("MCP_TEST_PORT", " "), ("MCP_TEST_PATH", "")]).unwrap();
        let expected = Settings {
            address: "127.0.0.1:8089".parse().unwrap(),
            path: None,
            delay: Duration::from_secs(5),
            initial: "pending".into(),
            updated: "reviewed".into(),
            list_changed: false,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn each_variable_counts_and_a_flag_goes_before_it() {
        let env = [
            ("MCP_TEST_PORT", "7001"),
            ("MCP_TEST_PATH", "/test"),
            ("MCP_TEST_UPDATE_DELAY_SECONDS", "0.5"),
            ("MCP_TEST_INITIAL_STATUS", "open"),
            ("MCP_TEST_UPDATED_STATUS", "done"),
            ("MCP_TEST_SEND_LIST_CHANGED", "True"),
        ];
        let settings = read(Flags::default(), &env).unwrap();
        let expected = Settings {
            address: "127.0.0.1:7001".parse().unwrap(),
            path: Some("/test".into()),
            delay: Duration::from_millis(500),
            initial: "open".into(),
            updated: "done".into(),
            list_changed: true,
        };
        assert_eq!(settings, expected);
        let flags =
            Flags { port: Some(0), path: Some("/flag".into()), delay: Some(1.0), initial_status: Some("x".into()), ..Flags::default() };
        let settings = read(flags, &env).unwrap();
        let expected = Settings {
            address: "127.0.0.1:0".parse().unwrap(),
            path: Some("/flag".into()),
            delay: Duration::from_secs(1),
            initial: "x".into(),
            ..expected
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_name() {
        for (name, value) in [
            ("MCP_TEST_PORT", "70000"),
            ("MCP_TEST_PATH", "test"),
            ("MCP_TEST_PATH", "/a?b"),
            ("MCP_TEST_UPDATE_DELAY_SECONDS", "soon"),
            ("MCP_TEST_UPDATE_DELAY_SECONDS", "-1"),
            ("MCP_TEST_UPDATE_DELAY_SECONDS", "NaN"),
            ("MCP_TEST_UPDATE_DELAY_SECONDS", "86401"),
            ("MCP_TEST_SEND_LIST_CHANGED", "maybe"),
        ] {
            assert!(read(Flags::default(), &[(name, value)]).is_err(), "{name}={value}");
        }
    }
}
