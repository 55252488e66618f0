//! From a server's lists to what is offered here: names get the prefix, everything else of an entry stays as it came.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use toolrail_core::{ArgumentCheck, Executor, ListEntry, Offer, Offered, OfferedTool, TaskSupport, ToolName};
use toolrail_protocol::HeaderParam;

use super::executor::{Remote, Thing};
use super::hub::Hub;
use super::lists::Lists;
use super::mend::{Sort, mend};
use super::message::{Members, Writer};
use super::on_behalf;
use super::settings::Selection;

/// What is offered, what had to be left out, and what had to be mended.
pub(super) fn build(lists: Lists, selection: &Selection, hub: &Arc<Hub>) -> Offer {
    let offer = Offer { instructions: lists.instructions, left_out: lists.missing, ..Offer::default() };
    let mut building = Building { offer, selection, hub, unnamed: Vec::new() };
    lists.tools.iter().for_each(|entry| building.tool(entry));
    lists.prompts.iter().for_each(|entry| building.prompt(entry));
    lists.resources.iter().for_each(|entry| building.resource(entry));
    lists.templates.iter().for_each(|entry| building.template(entry));
    let Building { mut offer, unnamed, .. } = building;
    offer.left_out.extend(in_words(&unnamed));
    on_behalf::add_connect(&mut offer, selection, hub);
    offer
}

/// An offer in the making.
struct Building<'b> {
    offer: Offer,
    selection: &'b Selection,
    hub: &'b Arc<Hub>,
    /// Tools that cannot have their names here.
    unnamed: Vec<String>,
}

/// An entry that can be offered.
struct Read<'r> {
    /// What it is asked for by at the server.
    key: String,
    value: Value,
    /// As it came, unless it had to be mended.
    raw: Option<&'r RawValue>,
}

impl Building<'_> {
    fn tool(&mut self, raw: &RawValue) {
        let Some(read) = self.read(Sort::Tool, raw) else { return };
        match ToolName::parse(&format!("{}{}", self.selection.prefix, read.key)) {
            Err(_) => self.unnamed.push(read.key),
            Ok(here) => {
                let header_params = read.value.get("inputSchema").map(HeaderParam::find).unwrap_or_default();
                let (name, entry) = read.renamed(here.as_str());
                let executor = self.remote(Thing::Tool { name, header_params });
                let (arguments, tasks) = (ArgumentCheck::There, TaskSupport::Never);
                self.offer.tools.push(OfferedTool { name: here, entry, executor, arguments, tasks });
            }
        }
    }

    fn prompt(&mut self, raw: &RawValue) {
        let Some(read) = self.read(Sort::Prompt, raw) else { return };
        let key = format!("{}{}", self.selection.prefix, read.key);
        let (name, entry) = read.renamed(&key);
        let executor = self.remote(Thing::Prompt { name });
        self.offer.prompts.push(Offered { key, entry, executor });
    }

    fn resource(&mut self, raw: &RawValue) {
        let Some(read) = self.read(Sort::Resource, raw) else { return };
        let (key, entry) = read.unchanged();
        let executor = self.remote(Thing::Resource);
        self.offer.resources.push(Offered { key, entry, executor });
    }

    fn template(&mut self, raw: &RawValue) {
        let Some(read) = self.read(Sort::Template, raw) else { return };
        let (key, entry) = read.unchanged();
        let executor = self.remote(Thing::Template { template: key.clone() });
        self.offer.templates.push(Offered { key, entry, executor });
    }

    /// The entry, mended if need be; what is wrong is noted, and there is none if it cannot be offered or is not chosen.
    fn read<'r>(&mut self, sort: Sort, raw: &'r RawValue) -> Option<Read<'r>> {
        let came = match serde_json::from_str::<Value>(raw.get()) {
            Ok(came) => came,
            Err(error) => {
                let why = format!("a {} is left out: its entry cannot be read ({error})", sort.word());
                self.offer.left_out.push(why);
                return None;
            }
        };
        // What is not chosen may be as it likes.
        if sort == Sort::Tool && text(&came, "name").is_some_and(|name| !self.selection.lists(name)) {
            return None;
        }
        let mut value = came.clone();
        if let Err(why) = mend(sort, &mut value, &mut self.offer.mended) {
            self.offer.left_out.push(why);
            return None;
        }
        let raw = (value == came).then_some(raw);
        Some(Read { key: text(&value, sort.key())?.to_owned(), value, raw })
    }

    fn remote(&self, thing: Thing) -> Arc<dyn Executor> {
        Arc::new(Remote { hub: Arc::clone(self.hub), thing })
    }
}

impl Read<'_> {
    /// Its key, and the entry as clients get it.
    fn unchanged(self) -> (String, ListEntry) {
        let written = self.raw.and_then(|raw| ListEntry::parse(raw.get()).ok());
        (self.key, written.unwrap_or_else(|| self.value.into()))
    }

    /// Its key, and the entry under its name here; the rest stays as it was written.
    fn renamed(mut self, name: &str) -> (String, ListEntry) {
        let members = self.raw.map_or(Members(Vec::new()), |raw| Members::of(raw.get())).0;
        let has_twins = self.value.as_object().is_none_or(|object| object.len() != members.len());
        if !has_twins {
            let mut writer = Writer::new();
            for (key, member) in members {
                match &*key {
                    "name" => writer.text("name", name),
                    key => writer.raw(key, member.get().as_bytes()),
                };
            }
            let text = writer.finish();
            if let Some(entry) = std::str::from_utf8(&text).ok().and_then(|text| ListEntry::parse(text).ok())
            {
                return (self.key, entry);
            }
        }
        if let Some(place) = self.value.get_mut("name") {
            *place = name.into();
        }
        (self.key, self.value.into())
    }
}

fn text<'e>(entry: &'e Value, key: &str) -> Option<&'e str> {
    entry.get(key).and_then(Value::as_str)
}

/// The most names that a message lists.
const MOST_NAMED: usize = 5;

fn in_words(left_out: &[String]) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let named: Vec<String> = left_out.iter().take(MOST_NAMED).map(|name| format!("{name:?}")).collect();
    let more = left_out.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "tools whose names would be longer than {} characters or have others than A-Z a-z 0-9 _ . - are left out: {}{more}; \
         shorten mcp.prefix or exclude them",
        ToolName::MAX_LENGTH,
        named.join(", ")
    ))
}
