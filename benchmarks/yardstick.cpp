// CRTM on fresh arms, by hand: sizes fixed at compile time, nothing abstract, the same work as
// heavybandits.simulate does in one run (arms, optimistic choice, truncation, online Newton step
// with the exact V-norm projection, Student t noise, regret). Build: g++ -O3 -march=native.
//
// usage: yardstick HORIZON ARMS_KEY NOISE_KEY WIDTH TRUNCATION  -> prints regret and seconds of CPU
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#ifndef D
#define D 10
#endif
#ifndef K
#define K 20
#endif

// The library addresses arms in columns of a multiple of eight; here the extra ones are not drawn.
constexpr int COLUMNS = (K + 7) / 8 * 8;

using u64 = std::uint64_t;

static inline double uniform(u64 key, u64 index) {
    u64 z = key + index * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return (double(std::int64_t(z >> 12)) + 0.5) * 0x1p-52;
}

static double W[D][D], V[D][D], recent[D][D], theta[D], direction[D], X[D][K], star[D];
static double scores[K], squares[K], lengths[K];

static double dot(const double* a, const double* b) {
    double first = 0, second = 0, third = 0, fourth = 0;
    int i = 0;
    for (; i + 4 <= D; i += 4) {
        first += a[i] * b[i];
        second += a[i + 1] * b[i + 1];
        third += a[i + 2] * b[i + 2];
        fourth += a[i + 3] * b[i + 3];
    }
    for (; i < D; i++) first += a[i] * b[i];
    return (first + second) + (third + fourth);
}

template <int N>
static void combine(const double (*rows)[N], const double* weights, int size, double* out) {
    int i = size % 2 == 1 ? 1 : 2;
    for (int k = 0; k < N; k++)
        out[k] = i == 1 ? weights[0] * rows[0][k] : weights[0] * rows[0][k] + weights[1] * rows[1][k];
    for (; i < size; i += 2)
        for (int k = 0; k < N; k++) out[k] += weights[i] * rows[i][k] + weights[i + 1] * rows[i + 1][k];
}

static void multiply(const double* x, double* out) { combine<D>(W, x, D, out); }

// The projection: Lanczos' basis of x, W x, W^2 x, ...; T is tridiagonal there, (I + nu T) y = e_1.
static double diagonal[D], beside[D], reciprocal[D], y[D], basis[D][D];

static void eliminate(int i, double shift, double& pivot, double& tail) {
    double own = 1 / (1 + shift), mixed = shift / (1 + shift), entry = own + mixed * diagonal[i];
    if (i == 0) {
        pivot = entry, tail = 1 / pivot;
    } else {
        double next = mixed * beside[i - 1];
        pivot = entry - next * next / pivot;
        tail *= next / pivot;
    }
}

static double shortening(int size, double shift, double& tail) {
    double own = 1 / (1 + shift), mixed = shift / (1 + shift), undo = 1 / mixed;
    double square = 1, row = own + mixed * diagonal[size - 1];
    y[size - 1] = 1;
    for (int i = size - 2; i >= 0; i--) {
        y[i] = row * (undo * reciprocal[i]);
        square += y[i] * y[i];
        row = (own + mixed * diagonal[i]) * y[i] - mixed * beside[i] * y[i + 1];
    }
    tail = 1 / row;
    return (1 + shift) * row / std::sqrt(square);
}

static double solve_secular(int size, double shift, double goal, double& tail) {
    double before = 0, below = 1;
    for (int n = 0; n < 60; n++) {
        double height = shortening(size, shift, tail);
        if (shift == before || std::abs(goal - height) <= 1e-14 * goal) break;
        double slope = (height - below) / (shift - before);
        if (slope <= 0) break;
        before = shift, below = height;
        shift += (goal - height) / slope;
    }
    return shift;
}

static bool negligible(double shift, double rest, double tail) {
    return shift * rest * tail <= 1e-12 * (1 + shift);
}

static void project(double limit) {
    double length = std::sqrt(dot(theta, theta));
    if (length <= limit) return;
    double image[D], parts[D], goal = length / limit, shift = 0, rest = 0, pivot = 0, tail = 0;
    for (int i = 0; i < D; i++) basis[0][i] = theta[i] / length;
    int size = 0;
    for (;;) {
        const double *last = basis[size], *previous = basis[size > 0 ? size - 1 : 0];
        multiply(last, image);
        double own = dot(last, image);
        for (int i = 0; i < D; i++) image[i] += rest * previous[i] - own * last[i];
        for (int j = 0; j <= size; j++) {
            parts[j] = 0;
            for (int i = 0; i < D; i++) parts[j] += basis[j][i] * image[i];
        }
        for (int j = 0; j <= size; j++)
            for (int i = 0; i < D; i++) image[i] -= parts[j] * basis[j][i];
        diagonal[size] = own;
        if (size == 0) shift = (goal - 1) / own;
        eliminate(size++, shift, pivot, tail);
        rest = std::sqrt(dot(image, image));
        if (size == D || negligible(shift, rest, tail)) {
            shift = solve_secular(size, shift, goal, tail);
            if (size == D || negligible(shift, rest, tail)) break;
            for (int i = 0; i < size; i++) eliminate(i, shift, pivot, tail);
        }
        beside[size - 1] = rest, reciprocal[size - 1] = 1 / rest;
        for (int i = 0; i < D; i++) basis[size][i] = -image[i] / rest;
    }
    combine<D>(basis, y, size, theta);
    double scale = limit / std::sqrt(dot(theta, theta));
    for (int i = 0; i < D; i++) theta[i] *= scale;
}

static void invert() {
    double L[D][D];
    for (int i = 0; i < D; i++)
        for (int j = 0; j <= i; j++) {
            double total = V[i][j];
            for (int k = 0; k < j; k++) total -= L[i][k] * L[j][k];
            L[i][j] = i == j ? std::sqrt(total) : total / L[j][j];
        }
    for (int c = 0; c < D; c++) {
        for (int i = c; i < D; i++) {
            double total = i == c;
            for (int j = c; j < i; j++) total -= L[i][j] * W[j][c];
            W[i][c] = total / L[i][i];
        }
        for (int i = D - 1; i >= c; i--) {
            double total = W[i][c];
            for (int j = i + 1; j < D; j++) total -= L[j][i] * W[j][c];
            W[i][c] = total / L[i][i];
        }
    }
    for (int i = 0; i < D; i++)
        for (int j = 0; j < i; j++) W[j][i] = W[i][j];
}

static void repair() {
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            V[i][j] += recent[i][j];
            recent[i][j] = 0;
        }
    invert();
}

static double logistic(double z) { return 1 / (1 + std::exp(-z)); }

static void draw_arms(u64 key, u64 start) {
    for (int k = 0; k < K; k++) lengths[k] = 0;
    for (int i = 0; i < D; i++)
        for (int k = 0; k < K; k++) {
            X[i][k] = uniform(key, start + i * COLUMNS + k);
            lengths[k] += X[i][k] * X[i][k];
        }
    for (int k = 0; k < K; k++) lengths[k] = 1 / std::sqrt(lengths[k]);
    for (int i = 0; i < D; i++)
        for (int k = 0; k < K; k++) X[i][k] *= lengths[k];
}

static void measure_squares() {
    double above[K], below[K];
    for (int k = 0; k < K; k++) squares[k] = 0;
    int i = 0;
    for (; i + 2 <= D; i += 2) {
        for (int k = 0; k < K; k++) {
            above[k] = 0.5 * W[i][i] * X[i][k];
            below[k] = 0.5 * W[i + 1][i + 1] * X[i + 1][k] + W[i + 1][i] * X[i][k];
        }
        int j = 0;
        for (; j + 4 <= i; j += 4)
            for (int k = 0; k < K; k++) {
                double p = X[j][k], q = X[j + 1][k], r = X[j + 2][k], s = X[j + 3][k];
                above[k] += (W[i][j] * p + W[i][j + 1] * q) + (W[i][j + 2] * r + W[i][j + 3] * s);
                below[k] += (W[i + 1][j] * p + W[i + 1][j + 1] * q) +
                            (W[i + 1][j + 2] * r + W[i + 1][j + 3] * s);
            }
        if (j < i)
            for (int k = 0; k < K; k++) {
                above[k] += W[i][j] * X[j][k] + W[i][j + 1] * X[j + 1][k];
                below[k] += W[i + 1][j] * X[j][k] + W[i + 1][j + 1] * X[j + 1][k];
            }
        for (int k = 0; k < K; k++) squares[k] += X[i][k] * above[k] + X[i + 1][k] * below[k];
    }
    static_assert(D % 2 == 0, "an odd dimension needs one more row");
}

static int choose(double width) {
    measure_squares();
    combine<K>(X, theta, D, scores);
    int arm = 0;
    double best = -INFINITY;
    for (int k = 0; k < K; k++) scores[k] += width * std::sqrt(2 * squares[k]);
    for (int k = 0; k < K; k++)
        if (scores[k] > best) best = scores[k], arm = k;
    return arm;
}

int main(int argc, char** argv) {
    if (argc < 6) return 2;
    long horizon = std::atol(argv[1]);
    u64 arms_key = std::strtoull(argv[2], nullptr, 10), noise_key = std::strtoull(argv[3], nullptr, 10);
    double width = std::atof(argv[4]), level = std::atof(argv[5]);
    double decay = std::exp(-1.0), curvature = decay / ((1 + decay) * (1 + decay)) / 2, regret = 0;
    for (int i = 0; i < D; i++) {
        star[i] = 1 / std::sqrt(double(D));
        V[i][i] = W[i][i] = 1;
    }
    std::clock_t started = std::clock();
    for (long t = 0; t < horizon; t++) {
        draw_arms(arms_key, u64(t) * D * COLUMNS);
        double best[K], top = -INFINITY, x[D];
        combine<K>(X, star, D, best);
        for (int k = 0; k < K; k++) top = best[k] > top ? best[k] : top;
        int arm = choose(width);
        for (int i = 0; i < D; i++) x[i] = X[i][arm];
        double mean = logistic(dot(x, star));
        regret += logistic(top) - mean;
        double u = uniform(noise_key, 4 * u64(t)), v = uniform(noise_key, 4 * u64(t) + 1);
        double y = mean + std::sqrt(3 * (std::pow(u, -2.0 / 3) - 1)) * std::cos(2 * M_PI * v);
        multiply(x, direction);
        double square = dot(x, direction);
        if (std::sqrt(square) * std::fabs(y) > level) y = 0;
        double gradient = logistic(dot(x, theta)) - y, growth = 1 + curvature * square;
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) recent[i][j] += curvature * x[i] * x[j];
        if ((t + 1) % 1024 == 0) {
            repair();
        } else {
            double shrink = curvature / growth;
            for (int i = 0; i < D; i++)
                for (int j = 0; j < D; j++) W[i][j] -= shrink * direction[i] * direction[j];
        }
        for (int i = 0; i < D; i++) theta[i] -= gradient / growth * direction[i];
        project(1.0);
    }
    double seconds = double(std::clock() - started) / CLOCKS_PER_SEC;
    std::printf("{\"regret\": %.12g, \"seconds\": %.6f}\n", regret, seconds);
}
