//! What keeps the numbers of many hosts: Debian's Prometheus, which fetches them, and Debian's VictoriaMetrics, which takes OTLP too. (Debian's
//! Prometheus is built without that.)

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::scratch;
use crate::http::{get, quoted, until};

/// A running program that answers queries.
pub(crate) struct Judge {
    child: Child,
    pub(crate) address: SocketAddr,
    folder: PathBuf,
}

impl Judge {
    /// Starts Prometheus, which fetches from these addresses all the time, from its fifth second on. `None`, and a skipped test, without Prometheus.
    pub(crate) fn prometheus(test: &str, targets: &[SocketAddr]) -> Option<Judge> {
        let folder = scratch("prometheus");
        fs::create_dir(&folder).unwrap();
        let file = folder.join("prometheus.yml");
        let targets: Vec<String> = targets.iter().map(|target| format!("'{target}'")).collect();
        let text = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n- job_name: ntrace\n  \
             static_configs: [{{targets: [{}]}}]\n",
            targets.join(", ")
        );
        fs::write(&file, text).unwrap();
        let mut command = program(test, "prometheus", "NTRACE_PROMETHEUS")?;
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg("--web.listen-address=127.0.0.1:0");
        Some(Judge::start(command, folder, "msg=\"Listening on\" address="))
    }

    /// Starts VictoriaMetrics, which waits for OTLP. `None`, and a skipped test, without it.
    pub(crate) fn victoria_metrics(test: &str) -> Option<Judge> {
        let folder = scratch("victoria-metrics");
        fs::create_dir(&folder).unwrap();
        let mut command = program(test, "victoria-metrics", "NTRACE_VICTORIA_METRICS")?;
        command.arg("-httpListenAddr=127.0.0.1:0").arg(format!("-storageDataPath={}", folder.join("data").display()));
        command.args(["-opentelemetry.usePrometheusNaming", "-search.latencyOffset=0s", "-search.disableCache"]);
        Some(Judge::start(command, folder, "started server at http://"))
    }

    /// Starts a program that tells its address behind this text.
    fn start(mut command: Command, folder: PathBuf, before: &str) -> Judge {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let address = lines.by_ref().find_map(|line| {
            let address = line.split_once(before).and_then(|(_, rest)| rest.trim_end_matches('/').parse().ok());
            said.push(line);
            address
        });
        let address = address.unwrap_or_else(|| panic!("no address in {}", said.join("\n")));
        // Whoever writes to a pipe that nobody reads waits.
        std::thread::spawn(move || lines.for_each(drop));
        let judge = Judge { child, address, folder };
        until("it is ready", || {
            get(judge.address, "/health").0.contains(" 200 ").then_some(()).or_else(|| judge.is_ready())
        });
        judge
    }

    fn is_ready(&self) -> Option<()> {
        get(self.address, "/-/ready").0.contains(" 200 ").then_some(())
    }

    /// The answer to a query: the labels and the value of each series.
    pub(crate) fn ask(&self, query: &str) -> Vec<(Value, f64)> {
        // VictoriaMetrics shows what is seconds old, else. Prometheus has no such path.
        get(self.address, "/internal/force_flush");
        let (head, body) = get(self.address, &format!("/api/v1/query?query={}&nocache=1", quoted(query)));
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {head} {body}"));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let rows = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
        let value = |row: &Value| row["value"][1].as_str().unwrap().parse().unwrap();
        rows.iter().map(|row| (row["metric"].clone(), value(row))).collect()
    }

    /// The only value of a query.
    pub(crate) fn value(&self, query: &str) -> Option<f64> {
        match self.ask(query)[..] {
            [(_, value)] => Some(value),
            _ => None,
        }
    }

    /// Asks until the only value is this, which it never exceeds.
    #[track_caller]
    pub(crate) fn expect(&self, query: &str, value: f64) {
        until(&format!("{query} is {value}"), || {
            let now = self.value(query);
            assert!(now.is_none_or(|now| now <= value), "{query} is {now:?}, more than {value}");
            (now == Some(value)).then_some(())
        });
    }

    /// Asks until the only value is this, whatever it was before.
    #[track_caller]
    pub(crate) fn await_value(&self, query: &str, value: f64) {
        until(&format!("{query} is {value}"), || (self.value(query) == Some(value)).then_some(()));
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The program that a variable names, or that is installed.
fn program(test: &str, name: &str, variable: &str) -> Option<Command> {
    let path = std::env::var_os(variable).map_or_else(|| name.into(), PathBuf::from);
    let known = Command::new(&path).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if known.is_ok_and(|status| status.success()) {
        return Some(Command::new(path));
    }
    crossing::skip(test, format_args!("no {name}; `cargo xtask setup` brings it"));
    None
}
