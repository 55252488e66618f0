//! `POST /admin/sync` and `GET /admin/export`: the store as somebody wants it, told before it is done (R120).

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Reply};

use crate::support::{assert_failed, echo_tool, gateway_and_upstream, listed, register_all, send};

async fn sync(gateway: &Gateway, body: Value) -> Result<Reply> {
    gateway.post_json("/admin/sync", &body).await
}

fn actions(body: &Value) -> Vec<(&str, &str)> {
    let steps = body["plan"].as_array().unwrap().iter();
    steps.map(|step| (step["action"].as_str().unwrap(), step["name"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_plan_tells_what_is_done_and_doing_it_twice_changes_nothing() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tool = |name: &str| echo_tool(name, &upstream);
    register_all(&gateway, &[tool("a"), tool("b"), tool("c"), tool("d")]).await?;
    let mut changed = tool("b");
    changed["description"] = json!("Says it again");
    let off = json!({"name": "c", "enabled": false, "configJson": tool("c")});
    let wish = |prune: bool, dry_run: bool| json!({"tools": [tool("a"), changed, off, tool("e")], "prune": prune, "dryRun": dry_run});

    let planned = sync(&gateway, wish(true, true)).await?.json()?;
    assert_eq!(actions(&planned), [("update", "b"), ("disable", "c"), ("remove", "d"), ("create", "e")]);
    assert_eq!(planned["plan"][0]["differences"][0]["pointer"], "/description");
    assert_eq!((&planned["plan"][0]["index"], &planned["counts"]["unchanged"]), (&json!(1), &json!(1)));
    assert_eq!((&planned["written"], &planned["revision"]), (&json!(0), &json!(4)));

    let done = sync(&gateway, wish(false, false)).await?.json()?;
    assert_eq!(
        (&done["written"], &done["revision"]),
        (&json!(3), &json!(7)),
        "nothing is removed unless asked"
    );
    assert_eq!(listed(&gateway).await?, ["a", "b", "d", "e"]);
    let pruned = sync(&gateway, wish(true, false)).await?.json()?;
    assert_eq!((actions(&pruned), &pruned["revision"]), (vec![("remove", "d")], &json!(8)));
    let again = sync(&gateway, wish(true, false)).await?.json()?;
    assert_eq!(
        (&again["written"], &again["revision"], &again["counts"]["unchanged"]),
        (&json!(0), &json!(8), &json!(4))
    );
    let history = gateway.get("/admin/history").await?.json()?;
    assert_eq!(history["versions"][0]["via"], "sync");
    Ok(())
}

#[tokio::test]
async fn a_list_with_errors_does_nothing_unless_each_stands_on_its_own() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let (good, twice) = (echo_tool("good", &upstream), echo_tool("twice", &upstream));
    register_all(&gateway, &[echo_tool("there", &upstream)]).await?;
    let list = json!([good, {"name": "bad", "configJson": {"http": {"url": "no"}}}, 5, twice, twice]);
    let refused = sync(&gateway, json!({"tools": list, "prune": true})).await?;
    assert_failed(&refused, 422, "INVALID_DEFINITION", "4 definitions have errors, so nothing was done");
    let body = refused.json()?;
    let refusals: Vec<&Value> = body["refused"].as_array().unwrap().iter().map(|one| &one["index"]).collect();
    assert_eq!(refusals, [1, 2, 3, 4], "of two with one name both are refused");
    assert_eq!(body["refused"][0]["problems"][0]["pointer"], "/tools/1/configJson/http/url");
    assert_eq!(listed(&gateway).await?, ["there"]);
    let each = sync(&gateway, json!({"tools": list, "prune": true, "mode": "each"})).await?.json()?;
    assert_eq!(actions(&each), [("create", "good")], "nothing is removed while anything is refused");
    assert_eq!(listed(&gateway).await?, ["good", "there"]);
    Ok(())
}

#[tokio::test]
async fn what_is_there_can_be_left_alone() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut tool = echo_tool("a", &upstream);
    register_all(&gateway, &[tool.clone()]).await?;
    tool["description"] = json!("Says it again");
    let wish = json!({"tools": [tool, echo_tool("b", &upstream)], "overwrite": false});
    let done = sync(&gateway, wish).await?.json()?;
    assert_eq!((actions(&done), &done["written"]), (vec![("keep", "a"), ("create", "b")], &json!(1)));
    let contradiction = json!({"tools": [], "prune": true, "overwrite": false});
    assert_failed(&sync(&gateway, contradiction).await?, 400, "INVALID_REQUEST", "contradicts");
    assert_failed(&sync(&gateway, json!({"tool": []})).await?, 400, "INVALID_REQUEST", "tools");
    Ok(())
}

#[tokio::test]
async fn what_is_exported_is_what_there_is_and_comes_back_unchanged() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let off = json!({"name": "a", "enabled": false, "configJson": echo_tool("a", &upstream)});
    register_all(&gateway, &[echo_tool("B", &upstream), off, echo_tool("c", &upstream)]).await?;
    let acme = [("toolrail-tenant", "acme")];
    assert_eq!(send(&gateway, "POST /admin/tools", &acme, &echo_tool("c", &upstream)).await?.status, 200);
    let export = gateway.get("/admin/export").await?.json()?;
    let names: Vec<(&str, Option<&str>)> = export["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["tenant"].as_str()))
        .collect();
    assert_eq!(names, [("a", None), ("B", None), ("c", None), ("c", Some("acme"))]);
    assert_eq!((&export["tools"][0]["enabled"], &export["revision"]), (&json!(false), &json!(4)));
    let wish = json!({"tools": export["tools"], "prune": true, "allTenants": true});
    let same = sync(&gateway, wish.clone()).await?.json()?;
    assert_eq!((&same["written"], &same["counts"]["unchanged"]), (&json!(0), &json!(4)));

    let (elsewhere, _) = gateway_and_upstream().await?;
    assert_eq!(sync(&elsewhere, wish).await?.json()?["written"], 4);
    assert_eq!(elsewhere.get("/admin/export").await?.json()?["tools"], export["tools"]);
    Ok(())
}

#[tokio::test]
async fn pruning_touches_only_the_tenants_that_are_meant() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let of = |tenant: &str, name: &str| json!({"tenant": tenant, "configJson": echo_tool(name, &upstream)});
    let all =
        json!({"tools": [echo_tool("s", &upstream), of("acme", "x"), of("acme", "y"), of("bolt", "x")]});
    assert_eq!(sync(&gateway, all).await?.json()?["written"], 4);
    let nobody = sync(&gateway, json!({"tools": [], "prune": true, "dryRun": true})).await?.json()?;
    assert_eq!(actions(&nobody), [], "an empty list speaks for nobody");
    let only = json!({"tools": [of("acme", "x")], "prune": true, "dryRun": true});
    assert_eq!(actions(&sync(&gateway, only).await?.json()?), [("remove", "y")], "shared ones do not occur");
    let named = json!({"tools": [echo_tool("s", &upstream), of("acme", "x")], "prune": true, "dryRun": true});
    assert_eq!(actions(&sync(&gateway, named).await?.json()?), [("remove", "y")]);
    let every = json!({"tools": [], "prune": true, "dryRun": true, "allTenants": true});
    assert_eq!(actions(&sync(&gateway, every).await?.json()?).len(), 4);
    let bolt = [("toolrail-tenant", "bolt")];
    let mine =
        send(&gateway, "POST /admin/sync", &bolt, &json!({"tools": [], "prune": true})).await?.json()?;
    assert_eq!(mine["plan"], json!([{"action": "remove", "name": "x", "tenant": "bolt"}]));
    let foreign = send(&gateway, "POST /admin/sync", &bolt, &json!({"tools": [of("acme", "x")]})).await?;
    assert_failed(&foreign, 400, "INVALID_REQUEST", "make them the same");
    Ok(())
}
