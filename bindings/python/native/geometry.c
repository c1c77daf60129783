#include "geometry.h"

#include <stdlib.h>

/* Neighbouring dimensions that one stride walks through. */
typedef struct Group {
    ptrdiff_t count;
    ptrdiff_t stride; /* in bytes */
} Group;

static int is_reduced(uint64_t reduced, int dimension) { return (int)(reduced >> dimension & 1); }

/* Appends a dimension to the last of `count` groups, or begins another; returns how many there are. */
static int append(Group *groups, int count, ptrdiff_t length, ptrdiff_t stride) {
    if (count > 0 && groups[count - 1].stride == stride * length) {
        groups[count - 1].count *= length;
        groups[count - 1].stride = stride;
        return count;
    }
    groups[count] = (Group){length, stride};
    return count + 1;
}

/* The dimensions of more than one element that are reduced (or are not), in order, as groups. */
static int groups_of(const Shape *shape, uint64_t chosen, int first, int end, Group *groups) {
    int count = 0;
    for (int d = first; d < end; ++d) {
        if (is_reduced(chosen, d) && shape->lengths[d] != 1) {
            count = append(groups, count, shape->lengths[d], shape->strides[d]);
        }
    }
    return count;
}

static int is_empty(const Shape *shape) {
    for (int d = 0; d < shape->rank; ++d) {
        if (shape->lengths[d] == 0) {
            return 1;
        }
    }
    return 0;
}

static size_t product(const Shape *shape, uint64_t chosen, int first, int end) {
    size_t count = 1;
    for (int d = first; d < end; ++d) {
        if (is_reduced(chosen, d)) {
            count *= (size_t)shape->lengths[d];
        }
    }
    return count;
}

static Group group_or_one(const Group *groups, int count) { return count == 0 ? (Group){1, 0} : groups[0]; }

/* Bytes to elements; 0 where the stride is no number of them. */
static int set_extent(Group group, ptrdiff_t item_size, size_t *count, ptrdiff_t *stride) {
    *count = (size_t)group.count;
    *stride = group.stride / item_size;
    return group.stride % item_size == 0;
}

static int set_extents(const Shape *shape, Group outer, Group axis, Group inner, Plan *plan) {
    ptrdiff_t size = shape->item_size;
    return set_extent(outer, size, &plan->outer, &plan->outer_stride) &&
           set_extent(axis, size, &plan->axis, &plan->axis_stride) &&
           set_extent(inner, size, &plan->inner, &plan->inner_stride);
}

/* The chosen dimensions of more than one element, by falling strides; returns how many, and in *in_order whether that
 * is their own order. */
static int sorted(const Shape *shape, uint64_t chosen, int *dimensions, int *in_order) {
    int count = 0;
    *in_order = 1;
    for (int d = 0; d < shape->rank; ++d) {
        int at = count;
        if (!is_reduced(chosen, d) || shape->lengths[d] == 1) {
            continue;
        }
        while (at > 0 && llabs(shape->strides[dimensions[at - 1]]) < llabs(shape->strides[d])) {
            dimensions[at] = dimensions[at - 1];
            --at;
        }
        *in_order &= at == count;
        dimensions[at] = d;
        ++count;
    }
    return count;
}

static int groups_in_order(const Shape *shape, const int *dimensions, int dimension_count, Group *groups) {
    int count = 0;
    for (int i = 0; i < dimension_count; ++i) {
        count = append(groups, count, shape->lengths[dimensions[i]], shape->strides[dimensions[i]]);
    }
    return count;
}

static int groups_along(const Shape *shape, uint64_t reduced, int any_order, Group *groups) {
    int dimensions[MOST_DIMENSIONS], in_order = 1;
    if (!any_order) {
        return groups_of(shape, reduced, 0, shape->rank, groups);
    }
    int count = sorted(shape, reduced, dimensions, &in_order);
    return groups_in_order(shape, dimensions, count, groups);
}

int plan_reduction(const Shape *shape, uint64_t reduced, int any_order, Plan *plan) {
    Group along[MOST_DIMENSIONS], kept[MOST_DIMENSIONS];
    /* The result takes the order of the input's memory, as NumPy's do. */
    plan->kept_count = sorted(shape, ~reduced, plan->kept, &plan->natural);
    if (is_empty(shape)) {
        plan->outer = product(shape, ~reduced, 0, shape->rank);
        plan->axis = product(shape, reduced, 0, shape->rank);
        plan->inner = 1;
        plan->outer_stride = plan->axis_stride = plan->inner_stride = 0;
        return 1;
    }
    int axes = groups_along(shape, reduced, any_order, along);
    int count = groups_in_order(shape, plan->kept, plan->kept_count, kept);
    if (axes > 1 || count > 2) {
        return 0;
    }
    Group axis = group_or_one(along, axes);
    Group outer = group_or_one(kept, count), inner = count == 2 ? kept[1] : (Group){1, 0};
    if (count == 1 && axis.count != 1 && llabs(outer.stride) < llabs(axis.stride)) {
        return set_extents(shape, inner, axis, outer, plan); /* columns: their elements lie side by side */
    }
    return set_extents(shape, outer, axis, inner, plan);
}

int plan_rows(const Shape *shape, uint64_t reduced, Plan *plan) {
    Group before[MOST_DIMENSIONS], along[MOST_DIMENSIONS], after[MOST_DIMENSIONS];
    int first = 0, end = shape->rank;
    while (first < shape->rank && !is_reduced(reduced, first)) {
        ++first;
    }
    while (end > first && !is_reduced(reduced, end - 1)) {
        --end;
    }
    plan->natural = 1;
    plan->kept_count = 0;
    if (product(shape, ~reduced, first, end) != 1) {
        return 0; /* other dimensions lie between those of a row */
    }
    if (is_empty(shape)) {
        plan->outer = product(shape, ~reduced, 0, first);
        plan->axis = product(shape, reduced, 0, shape->rank);
        plan->inner = product(shape, ~reduced, end, shape->rank);
        plan->outer_stride = plan->axis_stride = plan->inner_stride = 0;
        return 1;
    }
    int outers = groups_of(shape, ~reduced, 0, first, before);
    int axes = groups_of(shape, reduced, 0, shape->rank, along);
    int inners = groups_of(shape, ~reduced, end, shape->rank, after);
    return outers <= 1 && axes <= 1 && inners <= 1 &&
           set_extents(shape, group_or_one(before, outers), group_or_one(along, axes), group_or_one(after, inners),
                       plan);
}

int is_in_order(const Shape *shape) {
    ptrdiff_t expected = shape->item_size;
    for (int d = shape->rank - 1; d >= 0; --d) {
        if (shape->lengths[d] != 1 && shape->strides[d] != expected) {
            return 0;
        }
        expected *= shape->lengths[d] > 1 ? shape->lengths[d] : 1;
    }
    return 1;
}
