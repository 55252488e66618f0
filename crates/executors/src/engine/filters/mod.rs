//! The filters, `value|name(parameters)`.

mod lists;
mod numbers;
mod texts;

use super::fault::Fault;
use super::value::Value;
use crate::meter::Meter;

/// A filter by its name.
#[derive(Debug)]
pub(crate) struct Filter {
    name: &'static str,
    /// Whether it makes something of a value that is not there.
    pub(super) takes_absent: bool,
    pub(super) apply: Apply,
}

type Apply = for<'d> fn(&mut Meter, Value<'d>, &Given<'_, 'd>) -> FilterResult<'d>;

/// What a filter makes of a value.
type FilterResult<'d> = Result<Value<'d>, Fault>;

/// The parameters of a filter or a test.
#[derive(Debug, Default)]
pub(crate) struct Given<'p, 'd> {
    pub(super) positional: Vec<Value<'d>>,
    pub(super) named: Vec<(&'p str, Value<'d>)>,
}

/// Whether there is a filter of that name.
pub(crate) fn has_filter(name: &str) -> bool {
    Filter::find(name).is_some()
}

impl Filter {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        FILTERS.iter().find(|filter| filter.name == name)
    }

    /// The same; any for a name that was refused already.
    pub(super) fn find_or_any(name: &str) -> &'static Self {
        Self::find(name).unwrap_or(&FILTERS[0])
    }

    const fn new(name: &'static str, apply: Apply) -> Self {
        Self { name, takes_absent: false, apply }
    }

    const fn of_absent(name: &'static str, apply: Apply) -> Self {
        Self { name, takes_absent: true, apply }
    }
}

static FILTERS: &[Filter] = &[
    Filter::of_absent("default", default),
    Filter::of_absent("d", default),
    Filter::new("upper", texts::upper),
    Filter::new("lower", texts::lower),
    Filter::new("capitalize", texts::capitalize),
    Filter::new("title", texts::title),
    Filter::new("trim", texts::trim),
    Filter::new("replace", texts::replace),
    Filter::new("split", texts::split),
    Filter::new("lines", texts::lines),
    Filter::new("join", texts::join),
    Filter::new("string", texts::string),
    Filter::new("safe", texts::string),
    Filter::new("escape", texts::escape),
    Filter::new("e", texts::escape),
    Filter::new("tojson", texts::tojson),
    Filter::new("urlencode", texts::urlencode),
    Filter::new("b64encode", texts::b64encode),
    Filter::new("b64decode", texts::b64decode),
    Filter::new("int", numbers::int),
    Filter::new("float", numbers::float),
    Filter::new("bool", numbers::bool),
    Filter::new("round", numbers::round),
    Filter::new("abs", numbers::abs),
    Filter::new("sum", numbers::sum),
    Filter::new("length", lists::length),
    Filter::new("count", lists::length),
    Filter::new("first", lists::first),
    Filter::new("last", lists::last),
    Filter::new("min", lists::min),
    Filter::new("max", lists::max),
    Filter::new("sort", lists::sort),
    Filter::new("dictsort", lists::dictsort),
    Filter::new("unique", lists::unique),
    Filter::new("reverse", lists::reverse),
    Filter::new("list", lists::list),
    Filter::new("items", lists::items),
    Filter::new("map", lists::map),
    Filter::new("select", lists::select),
    Filter::new("reject", lists::reject),
    Filter::new("selectattr", lists::selectattr),
    Filter::new("rejectattr", lists::rejectattr),
    Filter::new("groupby", lists::groupby),
    Filter::new("zip", lists::zip),
    Filter::new("chain", lists::chain),
    Filter::new("attr", lists::attr),
];

impl<'d> Given<'_, 'd> {
    /// The parameter at a place, or of that name.
    pub(super) fn get(&self, place: usize, name: &str) -> Option<&Value<'d>> {
        let named = || self.named.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        self.positional.get(place).or_else(named)
    }

    /// The same, as text.
    fn text(&self, place: usize, name: &str, meter: &mut Meter) -> Result<Option<String>, Fault> {
        match self.get(place, name) {
            None | Some(Value::Null | Value::Undefined) => Ok(None),
            Some(value) => Ok(Some(value.text(meter)?.into_owned())),
        }
    }

    fn whole(&self, place: usize, name: &str) -> Result<Option<i128>, Fault> {
        match self.get(place, name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Int(number)) => Ok(Some(*number)),
            Some(other) => Err(Fault::new(format!("{name} must be a whole number, not {}", other.sort()))),
        }
    }

    fn is_set(&self, name: &str) -> bool {
        self.get(usize::MAX, name).is_some_and(Value::is_true)
    }
}

fn default<'d>(_: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> Result<Value<'d>, Fault> {
    let also_false = given.get(1, "boolean").is_some_and(Value::is_true);
    if value.is_undefined() || (also_false && !value.is_true()) {
        return Ok(given.get(0, "default_value").cloned().unwrap_or_else(|| Value::from(String::new())));
    }
    Ok(value)
}

/// The value that a path such as `user.name` leads to inside another.
fn at_path<'d>(value: &Value<'d>, path: &str, meter: &mut Meter) -> Result<Value<'d>, Fault> {
    let mut found = value.clone();
    for step in path.split('.') {
        found = match step.parse() {
            Ok(index) if matches!(found, Value::List(_)) => found.item(&Value::Int(index), meter)?,
            _ => found.member(step, meter)?,
        };
    }
    Ok(found)
}
