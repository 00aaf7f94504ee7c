//! Changes.

use tokio_postgres::error::SqlState;

use super::Access;
use super::connect::{Address, Refused, within};
use crate::plan::{is_list, parts};
use crate::secrets::Password;

/// Lets everybody in who has a password: by the file that `pg-prepare` has put beside the one that holds.
const LET_IN: &str = "DO $$ BEGIN EXECUTE pg_catalog.format('COPY (SELECT pg_catalog.regexp_split_to_table(
    pg_catalog.rtrim(pg_catalog.pg_read_file(%L), chr(10)), chr(10))) TO %L', 'pg_hba.open.conf',
    pg_catalog.current_setting('data_directory') || '/pg_hba.conf'); END $$; SELECT pg_catalog.pg_reload_conf()";

/// Sets the password of a role. The password itself is in no statement.
pub(super) async fn password(
    address: &Address<'_>,
    access: &Access,
    role: &str,
    password: &Password,
) -> Result<(), Refused> {
    within(async {
        let client = address.superuser(access).await?;
        let verifier = postgres_protocol::password::scram_sha_256(password.text().as_bytes());
        let statement = format!("ALTER ROLE {} PASSWORD {}", identifier(role), literal(&verifier));
        Ok(client.batch_execute(&statement).await?)
    })
    .await
}

/// Sets parameters, and takes others back; they are read at once. Which one the server refused, and why, if it did.
pub(super) async fn parameters(
    address: &Address<'_>,
    access: &Access,
    set: &[(String, String)],
    reset: &[String],
) -> Result<Option<String>, Refused> {
    within(async {
        let client = address.superuser(access).await?;
        for name in reset {
            client.batch_execute(&format!("ALTER SYSTEM RESET {}", parameter(name))).await?;
        }
        for (name, value) in set {
            let statement = format!("ALTER SYSTEM SET {} = {}", parameter(name), setting(name, value));
            if let Err(error) = client.batch_execute(&statement).await {
                let said = error.as_db_error().filter(|said| is_refusal(said.code()));
                let said = said.map(|said| {
                    let hint = said.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
                    format!("{}{hint}", said.message())
                });
                return said.map(Some).ok_or_else(|| error.into());
            }
        }
        client.batch_execute("SELECT pg_catalog.pg_reload_conf()").await?;
        Ok(None)
    })
    .await
}

/// Whether it is about the parameter, and not about the server.
fn is_refusal(code: &SqlState) -> bool {
    let classes = ["22", "42", "55", "0A"];
    classes.iter().any(|class| code.code().starts_with(class))
}

/// Lets writers in.
pub(super) async fn let_in(address: &Address<'_>, access: &Access) -> Result<(), Refused> {
    within(async { Ok(address.superuser(access).await?.batch_execute(LET_IN).await?) }).await
}

/// A name, quoted.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A parameter's name, of which the parts are quoted each.
fn parameter(name: &str) -> String {
    name.split('.').map(identifier).collect::<Vec<_>>().join(".")
}

/// A value; a list's parts one by one, since PostgreSQL would take them for one.
fn setting(name: &str, value: &str) -> String {
    match is_list(name) {
        true => parts(value).map(literal).collect::<Vec<_>>().join(", "),
        false => literal(value),
    }
}

/// A text, quoted whatever `standard_conforming_strings` says.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(parameter("auto_explain.log_min_duration"), "\"auto_explain\".\"log_min_duration\"");
        assert_eq!(literal("a'b\\"), "E'a''b\\\\'");
        assert_eq!(setting("shared_preload_libraries", "a, b"), "E'a', E'b'");
        assert_eq!(setting("datestyle", "ISO, MDY"), "E'ISO, MDY'");
    }
}
