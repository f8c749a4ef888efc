//! Every choice of a story comes from a tape of numbers. A seed makes a tape, a story is what a tape plays, and
//! shrinking changes the tape. A tape that has ended yields zeros, and zero is always the choice that makes progress.

/// Splitmix: different seeds give different sequences, and the same seed gives the same one.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Fewest and most numbers of a tape that a seed makes.
const SHORTEST: u64 = 12;
const LONGEST: u64 = 140;

/// Numbers are below this.
pub(crate) const NUMBERS: usize = 240;

#[derive(Debug)]
pub(crate) struct Tape {
    numbers: Vec<u16>,
    at: usize,
    more: Option<(Rng, usize)>,
}

impl Tape {
    pub(crate) fn seeded(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let limit = usize::try_from(SHORTEST + rng.next() % (LONGEST - SHORTEST)).unwrap_or(0);
        Self { numbers: Vec::with_capacity(limit), at: 0, more: Some((rng, limit)) }
    }

    pub(crate) fn given(numbers: Vec<u16>) -> Self {
        Self { numbers, at: 0, more: None }
    }

    fn draw(&mut self) -> usize {
        if let Some((rng, limit)) = &mut self.more
            && self.at == self.numbers.len()
            && self.at < *limit
        {
            self.numbers.push(u16::try_from(rng.next() % NUMBERS as u64).unwrap_or(0));
        }
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(number)
    }

    /// One of `of` choices. Where there is only one choice, nothing is drawn.
    pub(crate) fn pick(&mut self, of: usize) -> usize {
        if of < 2 { 0 } else { self.draw() % of }
    }

    /// One of these, chosen in proportion to its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(T, u8)]) -> Option<T> {
        let total: usize = choices.iter().map(|(_, weight)| usize::from(*weight)).sum();
        let mut left = if choices.len() < 2 { 0 } else { self.draw() % total.max(1) };
        for (choice, weight) in choices {
            let weight = usize::from(*weight);
            if left < weight {
                return Some(*choice);
            }
            left -= weight;
        }
        None
    }

    /// Nothing is left to choose: from here on, every participant makes progress.
    pub(crate) fn is_over(&self) -> bool {
        let limit = self.more.as_ref().map_or(self.numbers.len(), |(_, limit)| *limit);
        self.at >= limit
    }

    /// What was drawn.
    pub(crate) fn numbers(&self) -> &[u16] {
        &self.numbers
    }
}
