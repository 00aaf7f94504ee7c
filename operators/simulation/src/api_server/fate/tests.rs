use super::*;

fn faults(rates: Rates) -> Faults {
    Faults { rates, ..Faults::new(Random::new(7)) }
}

#[test]
fn without_faults_each_request_is_answered_within_20_ms_and_no_watch_is_interrupted() {
    let mut faults = faults(Rates::NONE);
    for _ in 0..1000 {
        let handling = faults.request("manager-0", true, Instant::now());
        assert_eq!(handling.fate, Fate::Answered);
        let latency = handling.request_latency + handling.answer_latency;
        assert!(latency >= Duration::from_millis(2) && latency <= Duration::from_millis(20), "{latency:?}");
        let watch = faults.watch();
        assert_eq!(watch.interruption, None);
        assert!(watch.lag <= Duration::from_millis(10));
    }
}

#[test]
fn the_default_mix_has_every_fate() {
    let mut faults = faults(Rates::default());
    let fates: Vec<Fate> = (0..20_000).map(|_| faults.request("manager-0", true, Instant::now()).fate).collect();
    for fate in [Fate::Answered, Fate::RequestLost, Fate::AnswerLost, Fate::Duplicated, Fate::Silent] {
        assert!(fates.contains(&fate), "{fate:?}");
    }
    for code in [409, 429, 503] {
        assert!(fates.contains(&Fate::Refused { code, takes_effect: false }), "{code}");
    }
    for takes_effect in [true, false] {
        assert!(fates.contains(&Fate::Refused { code: 500, takes_effect }));
    }
    assert!(fates.iter().any(|fate| matches!(fate, Fate::Late(_))));
    let answered = fates.iter().filter(|fate| **fate == Fate::Answered).count();
    assert!(answered > 18_000, "{answered}");
    let watches: Vec<WatchFate> = (0..2000).map(|_| faults.watch()).collect();
    for how in [Interruption::Reset, Interruption::End, Interruption::Freeze] {
        assert!(watches.iter().any(|watch| watch.interruption.is_some_and(|(_, found)| found == how)), "{how:?}");
    }
    assert!(watches.iter().any(|watch| watch.lag > Duration::from_secs(1)));
}

#[test]
fn a_storm_leaves_most_requests_alone() {
    let mut random = Random::new(1);
    for _ in 0..100 {
        let Rates { refused, request_lost, answer_lost, duplicated, late, silent, .. } = Rates::draw(&mut random);
        assert!(refused + request_lost + answer_lost + duplicated + late + silent < 500);
    }
}

#[test]
fn only_changes_of_existing_objects_are_in_conflict() {
    let mut faults = faults(Rates { refused: 1000, ..Rates::NONE });
    for _ in 0..1000 {
        let fate = faults.request("manager-0", false, Instant::now()).fate;
        assert!(matches!(fate, Fate::Refused { code, .. } if code != 409), "{fate:?}");
    }
}

#[test]
fn a_user_may_be_cut_off_alone_and_an_outage_concerns_all() {
    let (mut faults, now) = (faults(Rates::NONE), Instant::now());
    let later = now + Duration::from_secs(1);
    faults.cut_off_until.insert("manager-0".to_owned(), later);
    assert_eq!(faults.request("manager-0", true, now).fate, Fate::RequestLost);
    assert_eq!(faults.request("manager-1", true, now).fate, Fate::Answered);
    assert_eq!(faults.request("manager-0", true, later).fate, Fate::Answered);
    faults.away_until = Some(later);
    faults.outages_are_silent = true;
    assert_eq!(faults.request("manager-1", true, now).fate, Fate::Silent);
}

#[test]
fn an_outage_changes_nothing_after_it() {
    let draw = |away: bool| {
        let (mut faults, now) = (faults(Rates::default()), Instant::now());
        faults.away_until = away.then(|| now + Duration::from_secs(1));
        (0..10).for_each(|_| {
            faults.request("manager-0", true, now);
        });
        (0..100).map(|_| faults.request("manager-0", true, now + Duration::from_secs(2))).collect::<Vec<_>>()
    };
    assert_eq!(draw(true), draw(false));
}
