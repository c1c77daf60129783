/*
 * Reports by users of other projects on softmax, its logarithm, logsumexp and gradients, each tried here: README.md
 * beside this file says what each was about. A function is named after its report.
 */
#include "harness/harness.h"
#include "harness/places.h"
#include "reports/everywhere.h"

#include <math.h>
#include <string.h>

static int is_near(double a, double b, double absolute) { return fabs(a - b) <= absolute; }

static void scipy_20399_23548_and_sselogsumexp_2(void) {
    const float x[4] = {-INFINITY, -INFINITY, INFINITY, -INFINITY};
    float result[2] = {0, 0};
    reduce_everywhere("scipy#20399", reduction(WR_LOGSUMEXP, WR_F32, x, 1, 0, 1), 1, result);
    CHECK(isinf(result[0]) && result[0] < 0, "scipy#20399: %g", (double)result[0]);
    reduce_everywhere("scipy#23548", reduction(WR_LOGSUMEXP, WR_F32, x, 2, 2, 1), 4, result);
    CHECK(isinf(result[0]) && result[0] < 0, "sselogsumexp#2: %g", (double)result[0]);
    CHECK(isinf(result[1]) && result[1] > 0, "scipy#23548: %g", (double)result[1]);
}

static void pytorch_158310(void) {
    enum { OUTER = 18, AXIS = 2, INNER = 84, ALL = OUTER * AXIS * INNER };
    static uint16_t x[ALL], y[ALL];
    wr_softmax_args job = softmax_of(WR_F16, x, OUTER, AXIS, INNER);
    size_t i, wrong = 0;
    for (i = 0; i < ALL; ++i) {
        x[i] = f16_of(-20260.0 + (double)(i * 7919 % 520));
    }
    job.log = 1;
    softmax_everywhere("pytorch#158310", job, y, NULL);
    for (i = 0; i < ALL; ++i) {
        const size_t other = i / INNER % 2 == 0 ? i + INNER : i - INNER;
        const double difference = f16_value(x[i]) - f16_value(x[other]);
        const double expected = difference < 0 ? difference - log1p(exp(difference)) : -log1p(exp(-difference));
        wrong += !is_near(f16_value(y[i]), expected, 1e-3 * (1 + fabs(expected)));
    }
    CHECK(wrong == 0, "pytorch#158310: %zu of %d differ", wrong, ALL);
}

static void pytorch_11752_and_ttnn_1341(void) {
    const float large[2] = {1e8f, 1e8f}, far_apart[2] = {0.0f, -200.0f};
    float y[2];
    wr_softmax_args job = softmax_of(WR_F32, large, 1, 2, 1);
    job.log = 1;
    softmax_everywhere("pytorch#11752", job, y, NULL);
    CHECK(is_near((double)y[0], -log(2.0), 1e-7) && y[0] == y[1], "pytorch#11752: %g", (double)y[0]);
    job.input = far_apart;
    softmax_everywhere("pytorch2.0_ttnn#1341", job, y, NULL);
    CHECK(y[0] == 0.0f && y[1] == -200.0f, "pytorch2.0_ttnn#1341: %g %g", (double)y[0], (double)y[1]);
}

static void optax_1020(void) {
    uint16_t x[8 * 100], y[8 * 100];
    float logsumexp[8];
    size_t i, row;
    for (i = 0; i < 800; ++i) {
        x[i] = bf16_of((double)(i * 271 % 1000) / 1000);
    }
    softmax_everywhere("optax#1020", softmax_of(WR_BF16, x, 8, 100, 1), y, logsumexp);
    for (row = 0; row < 8; ++row) {
        double sum = 0;
        for (i = 0; i < 100; ++i) {
            sum += exp(bf16_value(x[row * 100 + i]));
        }
        CHECK(is_near((double)logsumexp[row], log(sum), 2e-6), "optax#1020: %.9g, exact %.9g", (double)logsumexp[row],
              log(sum));
    }
}

static void pytorch_6864_and_106545(void) {
    const float with_infinity[3] = {0.0f, INFINITY, 0.0f}, nothing[2] = {-INFINITY, -INFINITY};
    float y[3];
    wr_softmax_args job = softmax_of(WR_F32, with_infinity, 1, 3, 1);
    softmax_everywhere("pytorch#6864", job, y, NULL);
    CHECK(isnan(y[0]) && isnan(y[1]) && isnan(y[2]), "pytorch#6864: %g %g %g", (double)y[0], (double)y[1],
          (double)y[2]);
    job = softmax_of(WR_F32, nothing, 1, 2, 1);
    softmax_everywhere("pytorch#106545", job, y, NULL);
    CHECK(isnan(y[0]) && isnan(y[1]), "pytorch#106545: %g %g", (double)y[0], (double)y[1]);
    job.empty_row = WR_EMPTY_ROW_ZERO;
    softmax_everywhere("pytorch#55056", job, y, NULL);
    CHECK(y[0] == 0.0f && y[1] == 0.0f, "pytorch#55056: %g %g", (double)y[0], (double)y[1]);
}

/* A row without any element that takes part is beside one that has all. */
static void allennlp_890(void) {
    const float x[12] = {0.3725f, 0.5344f, 0.2128f, 0.3324f, 0.2745f, 0.2454f,
                         0.3423f, 0.3423f, 0.3423f, 0.3423f, 0.3423f, 0.3423f};
    const uint8_t mask[12] = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
    float y[12];
    wr_softmax_args job = softmax_of(WR_F32, x, 2, 6, 1);
    size_t i;
    job.mask = mask;
    job.empty_row = WR_EMPTY_ROW_ZERO;
    softmax_everywhere("allennlp#890", job, y, NULL);
    for (i = 6; i < 12; ++i) {
        CHECK(y[i] == 0.0f, "allennlp#890: %g", (double)y[i]);
    }
    job.log = 1;
    softmax_everywhere("allennlp#890", job, y, NULL);
    CHECK(is_near((double)y[0], -1.7537, 1e-4) && is_near((double)y[5], -1.8808, 1e-4), "allennlp#890: %g %g",
          (double)y[0], (double)y[5]);
    CHECK(isinf(y[6]) && y[6] < 0, "allennlp#890: %g", (double)y[6]);
}

static void entmax_30(void) {
    uint16_t x[128], y[128];
    size_t i;
    for (i = 0; i < 128; ++i) {
        x[i] = f16_of(i == 0 ? -1000.0 : -1005.0);
    }
    softmax_everywhere("entmax#30", softmax_of(WR_F16, x, 1, 128, 1), y, NULL);
    CHECK(is_near(f16_value(y[0]), 1 / (1 + 127 * exp(-5.0)), 5e-4), "entmax#30: f16 %g", f16_value(y[0]));
    for (i = 0; i < 128; ++i) {
        x[i] = bf16_of(i == 0 ? -1000.0 : -1008.0);
    }
    softmax_everywhere("entmax#30", softmax_of(WR_BF16, x, 1, 128, 1), y, NULL);
    CHECK(is_near(bf16_value(y[0]), 1 / (1 + 127 * exp(-8.0)), 4e-3), "entmax#30: bf16 %g", bf16_value(y[0]));
}

static wr_softmax_backward_args gradient_of(const float *y, const float *dy, size_t axis) {
    wr_softmax_backward_args job;
    memset(&job, 0, sizeof job);
    job.struct_size = sizeof job;
    job.dtype = WR_F32;
    job.output = y;
    job.output_gradient = dy;
    job.outer = 1;
    job.axis = axis;
    job.inner = 1;
    return job;
}

static void tensorflow_11756(void) {
    const float x[5] = {4, -INFINITY, 4, 4, 4}, dy[5] = {0, 0, 1, 0, 0};
    float y[5], dx[5];
    softmax_everywhere("tensorflow#11756", softmax_of(WR_F32, x, 1, 5, 1), y, NULL);
    CHECK(y[0] == 0.25f && y[1] == 0.0f, "tensorflow#11756: %g %g", (double)y[0], (double)y[1]);
    gradient_everywhere("tensorflow#11756", gradient_of(y, dy, 5), ALIAS_NONE, dx);
    CHECK(dx[1] == 0.0f && dx[2] == 0.1875f && dx[0] == -0.0625f, "tensorflow#11756: %g %g %g", (double)dx[0],
          (double)dx[1], (double)dx[2]);
}

static void ggml_1521_and_apex_1587(void) {
    enum { MOST = 1500 };
    static const size_t lengths[4] = {7, 64, 1000, MOST};
    float x[MOST], y[MOST], dy[MOST], beside[MOST], over_output[MOST], over_gradient[MOST];
    size_t i, l;
    for (i = 0; i < MOST; ++i) {
        x[i] = (float)(i * 37 % 101) / 50.0f;
        dy[i] = (float)(i * 53 % 97) / 48.0f - 1.0f;
    }
    for (l = 0; l < 4; ++l) {
        const size_t bytes = lengths[l] * sizeof *x;
        softmax_everywhere("ggml#1521", softmax_of(WR_F32, x, 1, lengths[l], 1), y, NULL);
        gradient_everywhere("apex#1587", gradient_of(y, dy, lengths[l]), ALIAS_NONE, beside);
        gradient_everywhere("ggml#1521", gradient_of(y, dy, lengths[l]), ALIAS_OUTPUT, over_output);
        gradient_everywhere("ggml#1521", gradient_of(y, dy, lengths[l]), ALIAS_OUTPUT_GRADIENT, over_gradient);
        CHECK(memcmp(beside, over_output, bytes) == 0 && memcmp(beside, over_gradient, bytes) == 0,
              "ggml#1521: %zu elements in place differ", lengths[l]);
    }
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    scipy_20399_23548_and_sselogsumexp_2();
    pytorch_158310();
    pytorch_11752_and_ttnn_1341();
    optax_1020();
    pytorch_6864_and_106545();
    allennlp_890();
    entmax_30();
    tensorflow_11756();
    ggml_1521_and_apex_1587();
    places_close();
    return check_report("reports_on_softmax");
}
