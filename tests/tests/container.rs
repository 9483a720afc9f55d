//! The container image without a container engine: its root file system, made by the script that the image is made with, serves; and the
//! files that say how it is built and run agree.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::process::Command;
use wharf_tests::{Running, binary, call_at, root, within};
use yaml_rust2::{Yaml, YamlLoader};

const WELCOME: &str = "handbook://wharf/welcome";
/// As an engine would start it: the root file system and the plugins may be read only, the cache is a volume. Becomes what it is told.
const MOUNTS: &str = r#"set -e
root=$1 plugins=$2
shift 2
mount --bind "$root" "$root"
mount --bind "$root/var/cache/wharf" "$root/var/cache/wharf"
mount --bind -o ro "$plugins" "$root/plugins"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec "$@""#;

/// What the Dockerfile says of the image, in its last stage.
struct Image(Vec<(String, String)>);

impl Image {
    fn read() -> Result<Self> {
        let text = fs::read_to_string(root().join("Dockerfile"))?;
        let (_, last) = text.rsplit_once("\nFROM ").context("a Dockerfile of one stage")?;
        let lines = last.lines().filter_map(|line| line.split_once(' '));
        Ok(Self(lines.map(|(instruction, rest)| (instruction.to_owned(), rest.to_owned())).collect()))
    }

    fn says(&self, instruction: &str) -> Result<&str> {
        let said = self.0.iter().find(|(known, _)| known == instruction);
        said.map(|(_, rest)| &**rest).with_context(|| format!("the Dockerfile has no {instruction}"))
    }

    /// The words of an instruction that starts a program without a shell.
    fn words(&self, instruction: &str) -> Result<Vec<String>> {
        let said = self.says(instruction)?;
        serde_json::from_str(&said[said.find('[').context("no JSON array")?..]).with_context(|| said.to_owned())
    }

    fn environment(&self) -> Result<Vec<&str>> {
        Ok(self.says("ENV")?.split(' ').collect())
    }

    fn user(&self) -> Result<&str> {
        self.says("USER")
    }
}

fn texts(yaml: &Yaml) -> Vec<&str> {
    yaml.as_vec().into_iter().flatten().filter_map(Yaml::as_str).collect()
}

#[test]
fn the_compose_file_lets_the_container_do_as_little_as_it_can() -> Result<()> {
    let compose = YamlLoader::load_from_str(&fs::read_to_string(root().join("compose.yaml"))?)?;
    let service = &compose[0]["services"]["wharf"];
    ensure!(service["read_only"].as_bool() == Some(true), "the root file system can be written");
    ensure!(texts(&service["cap_drop"]) == ["ALL"] && service["cap_add"].is_badvalue(), "it has capabilities");
    ensure!(texts(&service["security_opt"]) == ["no-new-privileges:true"], "it can gain rights");
    let ports = texts(&service["ports"]);
    ensure!(!ports.is_empty() && ports.iter().all(|port| port.starts_with("127.0.0.1:")), "published to more than this machine: {ports:?}");
    for key in ["privileged", "user", "network_mode", "pid", "devices", "healthcheck", "entrypoint", "command"] {
        ensure!(service[key].is_badvalue(), "{key}: leave it to the Dockerfile, which this is tested against");
    }
    Ok(())
}

#[test]
fn the_files_of_the_container_agree() -> Result<()> {
    let image = Image::read()?;
    let compose = YamlLoader::load_from_str(&fs::read_to_string(root().join("compose.yaml"))?)?;
    let service = &compose[0]["services"]["wharf"];
    let config: toml::Value = toml::from_str(&fs::read_to_string(root().join("deploy/wharf.toml"))?)?;
    let script = fs::read_to_string(root().join("deploy/rootfs.sh"))?;

    let volumes = image.words("VOLUME")?;
    let mounted: Vec<&str> = texts(&service["volumes"]).iter().filter_map(|volume| volume.split(':').nth(1)).collect();
    ensure!(mounted == volumes, "compose.yaml mounts {mounted:?}, the Dockerfile has {volumes:?}");
    ensure!(config["server"]["plugins"].as_str() == Some(&*volumes[0]), "deploy/wharf.toml: the plugins are not in {}", volumes[0]);
    let environment = image.environment()?;
    let cache = environment.iter().find_map(|set| set.strip_prefix("XDG_CACHE_HOME=")).context("no cache")?;
    ensure!(format!("{cache}/wharf") == volumes[1], "the cache is not in {}", volumes[1]);

    let (user, group) = image.user()?.split_once(':').context("USER has no group")?;
    ensure!(user == group && user.parse::<u32>()? != 0, "not a user without rights: {user}");
    ensure!(script.contains(&format!("\nuser={user}\n")), "deploy/rootfs.sh has another user than {user}");
    let owner = format!("--chown={user}:{group} /rootfs{cache}/wharf {cache}/wharf");
    ensure!(image.0.iter().any(|(instruction, rest)| instruction == "COPY" && rest.contains(&owner)), "no COPY {owner}");

    let port = image.says("EXPOSE")?;
    ensure!(config["server"]["http"].as_str() == Some(&format!("0.0.0.0:{port}")), "deploy/wharf.toml does not listen on {port}");
    ensure!(texts(&service["ports"]) == [format!("127.0.0.1:{port}:{port}")], "compose.yaml does not publish {port}");
    // Else it would not start; and it may be none only as long as others do not get to it.
    ensure!(config["server"]["auth"].as_str() == Some("none"), "deploy/wharf.toml does not say who is let in");
    let hosts = config["server"]["allowed-hosts"].as_array().context("no allowed-hosts: any name would do")?;
    ensure!(hosts.iter().any(|host| host.as_str() == Some("wharf")), "the service's own name is not allowed");
    Ok(())
}

/// The root file system in this folder.
async fn make(folder: &Path) -> Result<()> {
    let script = root().join("deploy/rootfs.sh");
    let mut command = Command::new("sh");
    command.arg(script).arg(binary()?).arg(folder).stdin(Stdio::null()).kill_on_drop(true);
    let made = within("rootfs.sh", async { Ok(command.output().await?) }).await?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Ok(())
}

/// A program of the root file system, as the image's user, in mounts of its own.
fn inside(folder: &Path, plugins: &Path, image: &Image, words: &[String]) -> Result<Command> {
    let chroot = ["/usr/sbin/chroot", "/usr/bin/chroot"].into_iter().find(|path| Path::new(path).exists()).context("no chroot")?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", MOUNTS, "sh"]).arg(folder).arg(plugins);
    // Nothing of this environment: that of the image.
    command.args(["env", "-i"]).args(image.environment()?).arg(chroot).arg(format!("--userspec={}", image.user()?)).arg(folder).args(words);
    command.stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// Why this cannot be tried here.
async fn hindrance() -> Option<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "chroot", "/", "true"]).stdin(Stdio::null()).kill_on_drop(true);
    match within("unshare", async { Ok(command.output().await?) }).await {
        Ok(ended) if ended.status.success() => None,
        Ok(ended) => Some(String::from_utf8_lossy(&ended.stderr).trim().to_owned()),
        Err(error) => Some(format!("{error:#}")),
    }
}

#[tokio::test]
async fn a_host_in_the_images_root_file_system_serves_and_is_well() -> Result<()> {
    if let Some(why) = hindrance().await {
        // Past what the test run captures: it is to be seen.
        writeln!(io::stderr(), "SKIPPED: a root file system takes root, or the rights to mount and to change the root folder: {why}")?;
        return Ok(());
    }
    let image = Image::read()?;
    let place = tempfile::tempdir()?;
    let (folder, plugins) = (place.path().join("rootfs"), place.path().join("plugins"));
    make(&folder).await?;
    ensure!(!folder.join("bin").exists() && !folder.join("usr/bin/sh").exists(), "there is a shell in it");
    // The folder above is this user's alone; the volume is anybody's to read.
    fs::create_dir(&plugins)?;
    fs::copy(root().join("plugins/handbook.wasm"), plugins.join("handbook.wasm")).context("run `cargo xtask guests`")?;
    fs::set_permissions(plugins.join("handbook.wasm"), fs::Permissions::from_mode(0o644))?;

    let mut words = image.words("ENTRYPOINT")?;
    words.extend(image.words("CMD")?);
    // Any free port, on this machine alone: there is no engine that would keep others from it.
    words.extend(["--http", "127.0.0.1:0"].map(str::to_owned));
    let mut host = Running::of(inside(&folder, &plugins, &image, &words)?)?;
    let log = host.says("/mcp", 1).await?;
    let url = log.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?.to_owned();
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();

    let status = fs::read_to_string(format!("/proc/{}/status", host.id()?))?;
    let user = image.user()?.split(':').next().unwrap_or_default();
    let owner = status.lines().find(|line| line.starts_with("Uid:")).unwrap_or_default();
    ensure!(owner.split_whitespace().skip(1).all(|id| id == user), "{owner}");

    let read = call_at(&address, "resources/read", json!({ "uri": WELCOME })).await?;
    ensure!(read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("Wharf")), "{read}");
    let cached = fs::read_dir(folder.join("var/cache/wharf/components"))?.count();
    ensure!(cached > 0, "nothing was cached: the volume cannot be written");

    let mut health = image.words("HEALTHCHECK")?;
    ensure!(health.len() == 2, "{health:?} asks at another place than the default");
    health.push(url.clone());
    let well = asked(inside(&folder, &plugins, &image, &health)?).await?;
    ensure!(well.0 == Some(0), "{}", well.1);

    // As an engine ends it.
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    let ill = asked(inside(&folder, &plugins, &image, &health)?).await?;
    ensure!(ill.0 == Some(1) && ill.1.contains(&format!("{url} is not well")), "{ill:?}");
    Ok(())
}

/// Its exit code, and all that it said.
async fn asked(mut command: Command) -> Result<(Option<i32>, String)> {
    let ended = within("the health check", async { Ok(command.output().await?) }).await?;
    let said = [ended.stdout, ended.stderr].concat();
    Ok((ended.status.code(), String::from_utf8_lossy(&said).into_owned()))
}

#[tokio::test]
async fn what_is_no_host_is_not_well() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let output = wharf_tests::wharf(folder.path(), &["health", "no-url"]).await?;
    ensure!(output.code == 2, "{output:?}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    // It takes the connection and says nothing.
    let output = wharf_tests::wharf(folder.path(), &["health", &url]).await?;
    ensure!(output.code == 1 && output.stderr.contains("no answer within 4 s"), "{output:?}");
    Ok(())
}
