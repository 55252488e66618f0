//! What every store does, whatever the database: `suite!(make)` turns each fact into a test of the subject that
//! `make()` gives. A new database passes it by one line in its own file.

mod audit;
mod conflicts;
mod forgetting;
mod history;
mod learnt;
mod others;
mod pages;
mod records;
mod rows;
mod tenants;

use std::sync::Arc;

use toolrail_core::{Action, Author, Change, Changes, Expected, Row, Store, ToolKey, Uses, async_trait};

pub(crate) use self::audit::*;
pub(crate) use self::conflicts::*;
pub(crate) use self::forgetting::*;
pub(crate) use self::history::*;
pub(crate) use self::learnt::*;
pub(crate) use self::others::*;
pub(crate) use self::pages::*;
pub(crate) use self::records::*;
pub(crate) use self::rows::*;
pub(crate) use self::tenants::*;
pub(crate) use crate::behaviour_of_messages::*;

/// A database, empty at first, that can be opened more than once and written to by others.
#[async_trait]
pub(crate) trait Subject: Send + Sync {
    /// Opens one more handle, as another process would.
    async fn open(&self) -> Arc<dyn Store>;

    /// Runs statements as any other program would, in one transaction; `Err` if the database refuses them.
    async fn sql(&self, statements: &str) -> Result<(), String>;
}

macro_rules! suite {
    ($make:path) => {
        crate::behaviour::suite! { @without_other_programs $make }
        crate::behaviour::suite! { @facts $make:
            an_update_that_changes_nothing_is_seen
            a_rollback_leaves_the_revision
            plain_inserts_updates_and_deletes_are_seen
            a_rename_is_a_removal_and_a_row
            a_move_to_another_tenant_is_a_removal_and_a_row
            a_row_written_without_a_tenant_is_shared
            names_are_unique_by_folded_case
            a_foreign_writer_is_not_taken_for_the_last_one
            rows_that_make_no_sense_are_still_read
            what_other_programs_write_is_in_the_history
            a_rename_by_another_program_is_two_versions
            what_other_programs_write_is_not_in_the_audit_record
            a_change_in_the_audit_record_is_found
            a_removal_from_the_audit_record_is_found
            a_message_that_has_lain_for_a_minute_is_gone
            the_days_of_a_version_begin_when_it_is_replaced
            what_was_not_asked_for_long_is_forgotten
            records_come_in_pages_and_only_so_many_of_a_kind
            a_record_removed_long_ago_is_forgotten
        }
    };
    (@without_other_programs $make:path) => {
        crate::behaviour::suite! { @facts $make:
            a_new_store_is_empty
            what_is_put_is_found_in_any_case
            a_put_replaces_the_row_whose_name_differs_only_in_case
            only_ascii_letters_are_folded
            every_change_moves_the_revision_by_one
            only_what_changed_is_reported
            updates_within_one_millisecond_are_all_seen
            a_removal_is_seen_until_the_name_comes_back
            removing_or_switching_an_unknown_name_has_no_effect
            switching_off_and_on_is_seen
            all_changes_of_a_write_are_made_or_none
            a_batch_is_made_in_its_order
            handles_see_each_others_writes
            writers_at_once_lose_nothing
            everything_survives_reopening
            reading_while_writing_gives_the_rows_of_the_revision
            the_age_of_a_change_grows
            uses_are_counted_and_change_no_revision
            a_key_is_made_once_and_shared_by_all
            tenants_may_use_the_same_name
            a_name_is_unique_within_its_tenant_in_any_case
            tenants_are_told_apart_by_case
            what_changed_and_was_removed_names_its_tenant
            uses_are_counted_for_each_tenant
            a_change_is_made_only_if_what_was_expected_is_there
            a_conflict_tells_what_is_there
            a_conflict_in_a_batch_makes_nothing
            what_is_expected_is_told_apart_by_tenant
            of_writers_at_once_with_one_expectation_one_wins
            many_rows_come_in_pages_and_each_once
            pages_begin_behind_any_revision
            pages_are_bounded_by_bytes
            whoever_reads_in_pages_while_others_write_misses_nothing
            every_version_of_a_definition_is_kept_with_its_author
            history_is_read_in_pages_from_the_newest
            the_history_of_one_tenant_is_not_that_of_another
            the_state_at_any_revision_can_be_had
            a_dropped_or_refused_write_leaves_no_version
            only_so_many_versions_are_kept
            versions_are_forgotten_after_so_many_days
            nothing_is_forgotten_unless_it_is_asked_for
            each_change_is_entered_in_the_audit_record
            nothing_is_entered_when_nothing_changed
            a_large_batch_of_new_and_old_is_entered_in_order
            the_audit_record_is_read_in_pages
            writers_at_once_make_one_audit_record
            a_message_is_collected_once_in_its_turn_and_changes_no_revision
            of_collectors_at_once_each_message_goes_to_one
            what_is_too_large_or_too_much_is_not_taken
            messages_take_only_so_many_bytes_for_one_and_for_all
            news_are_read_by_everybody_in_their_order
            news_become_visible_in_their_order
            only_the_newest_news_are_kept
            news_that_pass_push_out_none_that_last
            only_counts_that_changed_are_read
            many_counts_come_in_pages_and_each_once
            counts_and_queries_of_replicas_at_once_add_up
            queries_are_learnt_for_each_tenant_and_change_no_revision
            only_so_many_queries_are_kept_of_a_tool
            many_tools_with_queries_come_in_pages
            what_was_learnt_about_a_tool_can_be_forgotten
            all_of_a_tenant_or_everything_can_be_forgotten
            counts_of_a_tool_that_was_removed_begin_anew
            only_records_that_are_new_are_read
            a_record_that_is_removed_is_told_and_its_id_is_free
            a_record_is_written_only_if_it_is_what_was_expected
            records_that_are_too_large_are_refused
            records_are_told_apart_by_kind_and_case
            writes_of_records_are_entered_in_the_audit_record
            writers_of_records_at_once_lose_nothing
            of_writers_of_one_record_one_wins
        }
    };
    (@facts $make:path: $($fact:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                crate::behaviour::$fact(&$make().await).await;
            }
        )*
    };
}
pub(crate) use suite;

fn change(name: &str, action: Action) -> Change {
    Change { tenant: None, name: name.into(), expected: Expected::Anything, action }
}

pub(crate) fn by(who: &str) -> Author {
    Author { who: who.into(), address: None, via: "test".into() }
}

pub(crate) fn put(name: &str, config_json: &str) -> Change {
    change(name, Action::Put { enabled: true, config_json: config_json.into() })
}

pub(crate) fn purge(name: &str) -> Change {
    change(name, Action::Purge)
}

fn switch(name: &str, enabled: bool) -> Change {
    change(name, Action::SetEnabled(enabled))
}

/// The same change to a definition of a tenant.
pub(crate) fn of(tenant: &str, change: Change) -> Change {
    Change { tenant: Some(tenant.into()), ..change }
}

/// The same change, made only if that is there.
fn if_there(expected: Expected, change: Change) -> Change {
    Change { expected, ..change }
}

fn uses(name: &str, calls: u32) -> Uses {
    Uses { tool: key(None, name), calls }
}

fn key(tenant: Option<&str>, name: &str) -> ToolKey {
    ToolKey { tenant: tenant.map(Into::into), name: name.into() }
}

fn names(changes: &Changes) -> Vec<&str> {
    changes.rows.iter().map(|row| row.name.as_str()).collect()
}

fn removed(changes: &Changes) -> Vec<&str> {
    let mut names: Vec<&str> = changes.removed.iter().map(|key| key.name.as_str()).collect();
    names.sort_unstable();
    names
}

async fn row(store: &dyn Store, name: &str) -> Row {
    store.find(None, name).await.unwrap().unwrap()
}

async fn row_of(store: &dyn Store, tenant: &str, name: &str) -> Row {
    store.find(Some(tenant), name).await.unwrap().unwrap()
}
