// The most double-precision multiply-adds a core does: twelve vectors of independent chains.
// Build: g++ -O3 -march=native. Prints multiply-adds a second of CPU.
#include <cstdio>
#include <ctime>

constexpr int LANES = 12 * 8;  // enough chains to hide the latency, few enough for the registers

int main() {
    double sums[LANES], factor = 0.999999, term = 1e-9;
    for (int k = 0; k < LANES; k++) sums[k] = k;
    const long rounds = 20'000'000;
    std::clock_t started = std::clock();
    for (long n = 0; n < rounds; n++) {
        asm volatile("" : "+x"(factor));  // or the compiler would fold rounds together
        for (int k = 0; k < LANES; k++) sums[k] = sums[k] * factor + term;
    }
    double seconds = double(std::clock() - started) / CLOCKS_PER_SEC, total = 0;
    for (double sum : sums) total += sum;
    std::printf("{\"rate\": %.6g, \"total\": %.6g}\n", rounds * LANES / seconds, total);
}
