// SPDX-License-Identifier: MIT
// Models whose batches come from forked worker processes, as PyTorch's data loaders: two workers
// are forked before HIP starts, two while it has queues and threads. A thread copies the batches to
// pinned memory.
#include "models/loader.hpp"

namespace {

constexpr unsigned period = 3;

class Fed {
public:
    Fed(models::Loader& loader, const models::Model& model, models::CachingAllocator& allocator,
        models::Products& products)
        : pinning_(loader, model), session_(model, allocator, products, nullptr) {
        for (unsigned batch = 0; batch < period; ++batch)
            right_.push_back(models::expected_of(model, batch));
    }
    // Batches come in the order of their numbers.
    void run_period() {
        for (unsigned batch = 0; batch < period; ++batch) {
            const unsigned number = pinning_.next(session_.in());
            if (number != batch)
                test::die(1, "batch %u came in place of batch %u", number, batch);
            session_.forget();
            must_be_right(session_.model(), session_.run(), right_[batch]);
        }
    }
    void add_to(test::Digest& digest) const {
        for (const models::Result& result : right_) {
            digest.add(result.values);
            digest.add(result.layers);
        }
    }

private:
    models::PinningThread pinning_;
    models::Session session_;
    std::vector<models::Result> right_;
};

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("loaders", argc, argv, 2);
    const models::Model& first = models::named("mlp");
    const models::Model& second = models::named("cnn");
    models::Loader early(first, period);
    test::Digest digest;
    {
        models::CachingAllocator allocator;
        models::OwnProducts products;
        Fed before(early, first, allocator, products);
        before.run_period();
        // HIP has queues and threads by now.
        models::Loader late(second, period);
        Fed after(late, second, allocator, products);
        before.add_to(digest);
        after.add_to(digest);
        while (rounds.next()) {
            before.run_period();
            after.run_period();
        }
    }
    return test::passed(rounds, digest, "batches of workers forked before and after HIP began");
}
