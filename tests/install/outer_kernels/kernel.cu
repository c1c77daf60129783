// Every operation that nvcc has a quick and a correctly rounded form of.
__global__ void every_operation(float *x, double *y) {
    x[0] = x[1] * x[2] + x[3];
    x[4] = x[5] / x[6];
    x[7] = sqrtf(x[8]);
    x[9] = 1.0f / x[10];
    y[0] = y[1] * y[2] + y[3];
}
