//! What a collector learns of this host and this run: the resource of OpenTelemetry, and how often numbers are sent.

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::failure::{Failure, Result};
use crate::output::shown;

/// The variables that OpenTelemetry specifies.
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";
/// The interval without the variable, by the same specification.
const MINUTE: Duration = Duration::from_secs(60);

/// The attributes of the resource, by name.
pub(super) type Attributes = BTreeMap<String, String>;

/// The attributes that the environment gives.
///
/// # Errors
/// A variable has no meaning.
pub(super) fn attributes() -> Result<Attributes> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    attributes_of(value(SERVICE)?.as_deref(), value(ATTRIBUTES)?.as_deref(), host.trim(), std::process::id())
}

/// The time between two messages.
///
/// # Errors
/// The variable is no number of milliseconds.
pub(super) fn interval() -> Result<Duration> {
    value(INTERVAL)?.map_or(Ok(MINUTE), |text| milliseconds(&text))
}

fn value(name: &str) -> Result<Option<String>> {
    match env::var_os(name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => match value.into_string() {
            Ok(value) => Ok(Some(value)),
            Err(value) => Err(Failure::usage(format!("{name}: '{}' is no UTF-8", shown(value)))),
        },
    }
}

fn milliseconds(text: &str) -> Result<Duration> {
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    let wrong = || Failure::usage(format!("{INTERVAL}: '{}' is no number of milliseconds, such as 60000", shown(text)));
    number.map(Duration::from_millis).ok_or_else(wrong)
}

/// The attributes of a process: those of the variables, and where these say nothing, what tells one ntrace from all others.
fn attributes_of(service: Option<&str>, list: Option<&str>, host: &str, pid: u32) -> Result<Attributes> {
    let own = [
        ("service.name", "ntrace".into()),
        ("host.name", host.into()),
        ("service.instance.id", format!("{host}:{pid}")),
    ];
    let mut attributes: Attributes = own.map(|(name, value): (_, String)| (name.into(), value)).into();
    for pair in list.unwrap_or_default().split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let wrong = || {
            let what = "is no NAME=VALUE in UTF-8; write %2C for a comma in a value";
            Failure::usage(format!("{ATTRIBUTES}: '{}' {what}", shown(pair)))
        };
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let value = percent_decode_str(value.trim()).decode_utf8().map_err(|_| wrong())?;
        let name = Some(name.trim()).filter(|name| !name.is_empty()).ok_or_else(wrong)?;
        attributes.insert(name.into(), value.into_owned());
    }
    if let Some(service) = service {
        attributes.insert("service.name".into(), service.into());
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(service: Option<&str>, list: Option<&str>) -> Result<String, String> {
        let attributes = attributes_of(service, list, "h", 7).map_err(|failure| failure.to_string())?;
        Ok(attributes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_the_environment_says_comes_before_what_ntrace_knows() {
        let of = |service, list| shown_of(service, list).unwrap();
        assert_eq!(of(None, None), "host.name=h service.instance.id=h:7 service.name=ntrace");
        assert_eq!(of(Some("s"), Some("service.name=t")), "host.name=h service.instance.id=h:7 service.name=s");
        let list = "service.name=t, host.name = a%2Cb%3D ,rack=12,";
        assert_eq!(of(None, Some(list)), "host.name=a,b= rack=12 service.instance.id=h:7 service.name=t");
    }

    #[test]
    fn a_variable_without_meaning_is_named() {
        for list in ["a", "a=b,c", "=b", "a=%ff"] {
            let told = shown_of(None, Some(list)).unwrap_err();
            assert!(told.starts_with("OTEL_RESOURCE_ATTRIBUTES: '"), "{told}");
        }
        assert!(milliseconds("250").is_ok_and(|time| time == Duration::from_millis(250)));
        for text in ["0", "-1", "1s", "1.5"] {
            assert!(milliseconds(text).is_err_and(|told| told.to_string().contains(INTERVAL)), "{text}");
        }
    }
}
