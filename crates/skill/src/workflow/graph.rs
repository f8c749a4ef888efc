//! Whether steps need each other in a cycle.

/// Most steps of a cycle that a message names.
const SHOWN_MAX: usize = 8;

/// A cycle in a graph, as the steps on it, each of which needs the next; the first is also the end. `needs[i]` are the
/// steps that step `i` needs. Takes time in proportion to the steps and needs, and no stack.
pub(super) fn cycle(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; needs.len()];
    for start in 0..needs.len() {
        if marks[start] != Mark::New {
            continue;
        }
        let mut way = vec![(start, 0_usize)];
        marks[start] = Mark::Open;
        while let Some((step, next)) = way.last_mut() {
            let Some(&need) = needs[*step].get(*next) else {
                marks[*step] = Mark::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match marks[need] {
                Mark::New => {
                    marks[need] = Mark::Open;
                    way.push((need, 0));
                }
                Mark::Open => {
                    let begin = way.iter().position(|(step, _)| *step == need).unwrap_or_default();
                    return Some(way[begin..].iter().map(|(step, _)| *step).collect());
                }
                Mark::Done => {}
            }
        }
    }
    None
}

/// `a → b → a`, shortened where it is long.
pub(super) fn shown<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let mut parts: Vec<String> = names.take(SHOWN_MAX).map(str::to_owned).collect();
    let first = parts.first().cloned().unwrap_or_default();
    if count > SHOWN_MAX {
        parts.push(format!("({} more)", count - SHOWN_MAX));
    }
    parts.push(first);
    parts.join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_and_named() {
        assert_eq!(cycle(&[vec![1, 2], vec![2], vec![]]), None, "two ways to one step");
        assert_eq!(cycle(&[vec![0]]), Some(vec![0]));
        assert_eq!(cycle(&[vec![], vec![0, 2], vec![3], vec![1]]), Some(vec![1, 2, 3]));
        assert_eq!(cycle(&[vec![1], vec![2], vec![3], vec![1]]), Some(vec![1, 2, 3]), "not the way to it");
        assert_eq!(shown(["a", "b"].into_iter()), "a → b → a");
        assert_eq!(shown(["a"].into_iter()), "a → a");
        let names: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let long = shown(names.iter().map(String::as_str));
        assert_eq!(long, "0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → (92 more) → 0");
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let mut needs: Vec<Vec<usize>> =
            (0..1_000_000).map(|step: usize| step.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(cycle(&needs), None);
        needs[0].push(999_999);
        assert_eq!(cycle(&needs).map(|steps| steps.len()), Some(1_000_000));
    }
}
