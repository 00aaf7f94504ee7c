//! Runs a story once, and branches off wherever something can befall the manager: each branch must end as the story does.

use std::slice::Iter;

/// A world with a manager in it that stories are about.
pub trait Stage: Sized {
    /// What happens in a story.
    type Step;

    /// Another world that is as this one is now.
    fn fork(&self) -> Self;
    /// Has that happen.
    fn take(&mut self, step: &Self::Step) -> Taken;
    /// Lets all but the manager go on, whose stores see all of it.
    fn go_on(&mut self);
    /// Lets the manager pass once, and has that befall it.
    fn pass(&mut self, pass: Pass);
    /// How many writes and acts there were so far.
    fn done(&self) -> Done;
    /// Whether the manager died in the last pass.
    fn died(&self) -> bool;
    /// Whether all is as asked.
    fn is_at_rest(&self) -> bool;
    /// Lets all go on until it is as asked, and stays so.
    ///
    /// # Errors
    /// Why it does not, or what was done that must never be.
    fn come_to_rest(&mut self) -> Result<(), String>;
    /// What there is in the end that every branch must end with.
    fn essence(&self) -> Vec<String>;
    /// What happened, in words.
    fn story(&self) -> String;
}

/// What comes after a step.
#[derive(Clone, Copy, Debug)]
pub enum Taken {
    /// The next one, at once.
    Next,
    /// So many rounds in which nothing else happens.
    Calm(u8),
    /// Rounds in which nothing else happens, until all is at rest.
    Rest,
}

/// What becomes of an answer to the manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// It arrives.
    #[default]
    Given,
    /// It is lost; what was asked is done.
    Lost,
    /// The question was lost.
    Unasked,
}

/// What befalls the manager in a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pass {
    /// How many more writes it lives to see.
    pub lives: Option<usize>,
    /// What becomes of answers to its acts.
    pub answer: Answer,
    /// Whether it does not wait until its stores have seen its own writes.
    pub late: bool,
}

/// What befalls the manager, wherever it can.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It dies after each write.
    Dies,
    /// So becomes of the answer to each act.
    Act(Answer),
}

/// How many writes and acts there were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Writes to the API server.
    pub writes: usize,
    /// Acts upon what the operator operates.
    pub acts: usize,
}

/// A story on the way to its end.
struct Run<'a, S: Stage> {
    stage: S,
    steps: Iter<'a, S::Step>,
    /// For how many rounds nothing is done.
    calm: u8,
    /// Whether nothing is done until all is at rest.
    waits: bool,
}

impl<S: Stage> Run<'_, S> {
    /// The same story, as far as it has come.
    fn fork(&self) -> Self {
        Self { stage: self.stage.fork(), steps: self.steps.clone(), ..*self }
    }

    /// Goes on to the next pass of the manager.
    fn go_on(&mut self) {
        while self.calm == 0
            && !self.waits
            && let Some(step) = self.steps.next()
        {
            match self.stage.take(step) {
                Taken::Next => {}
                Taken::Calm(rounds) => self.calm = rounds,
                Taken::Rest => self.waits = true,
            }
        }
        if self.calm > 0 {
            self.calm -= 1;
        } else if self.waits {
            self.waits = !self.stage.is_at_rest();
        }
        self.stage.go_on();
    }

    /// Whether all has been done.
    fn is_over(&self) -> bool {
        self.steps.len() == 0 && self.calm == 0 && !self.waits
    }

    /// Lets the manager pass once, and nothing befalls it: what it did.
    fn pass(&mut self) -> Done {
        let before = self.stage.done();
        self.stage.pass(Pass::default());
        let after = self.stage.done();
        Done { writes: after.writes - before.writes, acts: after.acts - before.acts }
    }

    /// Runs the rest, in which nothing befalls the manager.
    fn end(mut self, what: &str) -> S {
        for _ in 0..LONGEST {
            if self.is_over() {
                break;
            }
            self.go_on();
            self.pass();
        }
        if let Err(why) = self.stage.come_to_rest() {
            panic!("{what}: {why}\n{}", self.stage.story());
        }
        self.stage
    }

    /// The stories that branch off here, since that befalls the manager in the pass that comes, in which it would do as much.
    fn branches(&self, fate: Fate, whole: Done) -> Vec<Self> {
        let befalls = |pass| {
            let mut branch = self.fork();
            branch.stage.pass(pass);
            branch
        };
        match fate {
            Fate::Dies => {
                (0..whole.writes).map(|lives| befalls(Pass { lives: Some(lives), ..Pass::default() })).collect()
            }
            Fate::Act(answer) if whole.acts > 0 => vec![befalls(Pass { answer, ..Pass::default() })],
            Fate::Act(_) => Vec::new(),
        }
    }
}

/// How many rounds a story has at most.
const LONGEST: usize = 2000;
/// For how many rounds in a row all is at rest before a story is over: what a watch has yet to tell may still move it.
const RESTED: usize = 3;

/// Has it befall the manager at every point of a story that begins on that stage and goes on with these steps.
///
/// # Panics
/// If a branch does not come to rest, or ends otherwise than the story.
pub fn everywhere<S: Stage>(name: &str, stage: S, steps: &[S::Step], fate: Fate) {
    let begun = Run { stage, steps: steps.iter(), calm: 0, waits: false };
    let (mut run, mut passes, mut rested) = (begun.fork(), Vec::new(), 0);
    for _ in 0..LONGEST {
        run.go_on();
        passes.push(run.pass());
        rested = if run.is_over() && run.stage.is_at_rest() { rested + 1 } else { 0 };
        if rested >= RESTED {
            break;
        }
    }
    let whole = run.end(name).essence();
    let (mut run, mut points) = (begun, 0);
    for pass in passes {
        run.go_on();
        for branch in run.branches(fate, pass) {
            let what = format!("{name}, point {points}");
            assert!(branch.stage.died() || matches!(fate, Fate::Act(_)), "{what}: it lives");
            let end = branch.end(&what);
            assert_eq!(end.essence(), whole, "{what}\n{}", end.story());
            points += 1;
        }
        run.pass();
    }
    println!("{name}: {points} points");
}
