//! Where statements begin and end.

use super::*;

fn texts(sql: &str) -> Vec<&str> {
    split(sql).unwrap().iter().map(|statement| statement.text).collect()
}

#[test]
fn splits_at_semicolons_outside_of_quotes_and_comments() {
    assert_eq!(texts("a; b ;; -- c;\n;d"), ["a", "b", "d"]);
    assert_eq!(
        texts("select ';', \";\", E'\\';', $$;$$, $x$ $$ ; $x$, a$b; c"),
        ["select ';', \";\", E'\\';', $$;$$, $x$ $$ ; $x$, a$b", "c"]
    );
    assert_eq!(texts("/* a; /* b; */ c; */ d; e /* ; */ f"), ["d", "e /* ; */ f"]);
    assert_eq!(
        texts("create rule r as on insert to t do (select 1; select 2); x"),
        ["create rule r as on insert to t do (select 1; select 2)", "x"]
    );
    assert_eq!(texts("select 'it''s; fine'; select $1; select '\\'; x").len(), 4);
    assert_eq!(texts(" \n-- nothing\n/* at all */ ;"), Vec::<&str>::new());
    assert_eq!(texts("select '\u{e4};\u{1f600}'; \u{e4}\u{f6}; x"), ["select '\u{e4};\u{1f600}'", "\u{e4}\u{f6}", "x"]);
}

#[test]
fn bodies_of_functions_are_not_split() {
    let body =
        "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END";
    assert_eq!(texts(&format!("{body}; x")), [body, "x"]);
    assert_eq!(texts("create function f() returns int language sql as $f$ select 1; $f$; end; x").len(), 3);
    assert_eq!(texts("begin; select 1; end; x").len(), 4);
}

#[test]
fn lines_are_where_a_statement_begins() {
    let sql = "-- first\ncreate table t (\n  a int\n);\n\n/* b\n*/ insert into t\nvalues (1)";
    let lines: Vec<_> = split(sql).unwrap().iter().map(|statement| statement.line).collect();
    assert_eq!(lines, [2, 7]);
}

#[test]
fn an_unterminated_quote_or_comment_is_reported() {
    assert_eq!(split("a;\n'b"), Err(Unterminated { line: 2, what: "quote" }));
    assert_eq!(split("$a$ b $$"), Err(Unterminated { line: 1, what: "dollar quote" }));
    assert_eq!(split("\n\n/* /* */"), Err(Unterminated { line: 3, what: "comment" }));
}

#[test]
fn what_ends_the_transaction_is_refused() {
    for wrong in [
        "COMMIT",
        "begin work",
        "rollback",
        "END",
        "prepare transaction 'x'",
        "prepare  transaction 'x'",
        "\\! id",
        "\\c",
        "copy t from stdin",
        "copy t from  stdin",
        "COPY t FROM\nSTDIN",
        "COPY t (a) FROM\t/* rows */ STDIN WITH CSV",
    ] {
        assert!(refusal(wrong).is_some(), "{wrong}");
    }
    for right in [
        "savepoint a",
        "ROLLBACK TO a",
        "rollback to savepoint a",
        "rollback  to a",
        "copy t from '/from stdin'",
        "prepare x as select 1",
        "copy t to '/x'",
        "select 1",
    ] {
        assert!(refusal(right).is_none(), "{right}");
    }
}
