//! Pure: which members' pods are not as desired.

use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::objects::{TEMPLATE, VERSION};
use crate::plan::{Observed, space};

/// Whether a member needs a new pod, and keeps its data with it.
pub(in crate::plan) fn is_to_be_recreated(member: &MemberView<'_>, desired: &Desired) -> bool {
    desired.durable && !member.has_unusable_claim() && needs_new_pod(member, desired)
}

/// Whether a rolling update has to reach a member. There is none while a part of the spec is refused: the desired state
/// lacks it, so it is not what the user specified either.
pub(in crate::plan) fn needs_rollout(observed: &Observed, member: &MemberView<'_>, desired: &Desired) -> bool {
    !observed.refuses_new_pods() && is_outdated(member, desired)
}

/// Whether a member needs a new pod, or its pod a new image.
pub(in crate::plan) fn needs_change(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    desired: &Desired,
) -> bool {
    needs_rollout(observed, member, desired) || space::can_have_more(observed, members, member)
}

/// Whether a member's pod needs only a new image.
pub(in crate::plan) fn needs_only_new_image(member: &MemberView<'_>, desired: &Desired) -> bool {
    !needs_new_pod(member, desired) && needs_new_image(member, desired)
}

/// Whether a member's pod differs from the desired one.
pub(in crate::plan) fn is_outdated(member: &MemberView<'_>, desired: &Desired) -> bool {
    needs_new_pod(member, desired) || needs_new_image(member, desired)
}

pub(in crate::plan) fn needs_new_pod(member: &MemberView<'_>, desired: &Desired) -> bool {
    member.annotation(TEMPLATE) != Some(desired.template.as_str())
}

pub(in crate::plan) fn needs_new_image(member: &MemberView<'_>, desired: &Desired) -> bool {
    member.annotation(VERSION) != Some(desired.version.to_string().as_str())
}

/// Whether two pods have the same template and version.
pub(in crate::plan) fn same_template(one: &MemberView<'_>, other: &MemberView<'_>) -> bool {
    [TEMPLATE, VERSION].iter().all(|name| one.annotation(name) == other.annotation(name))
}
