// SPDX-License-Identifier: MIT
// Runs the eight models one after the other, for programs that differ in their products.
#pragma once

#include "session.hpp"

namespace models {

inline int run_every_model(const char* program, int argc, char** argv, Products& products) {
    test::Rounds rounds(program, argc, argv, 1);
    CachingAllocator allocator;
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<Result> right;
    test::Digest digest;
    for (const Model& model : all()) {
        sessions.push_back(std::make_unique<Session>(model, allocator, products, nullptr));
        right.push_back(expected_of(model, 0));
        must_be_known(model, right.back());
        digest.add(right.back().values);
        digest.add(right.back().layers);
    }
    while (rounds.next()) {
        for (std::size_t i = 0; i < sessions.size(); ++i) {
            sessions[i]->fill(0);
            sessions[i]->forget();
            must_be_right(sessions[i]->model(), sessions[i]->run(), right[i]);
        }
    }
    const CachingAllocator::Counts counts = allocator.counts();
    if (counts.reused == 0 || counts.waited == 0)
        test::die(1, "no block of the allocator was used again, or none waited for a stream");
    return test::passed(rounds, digest,
                        "8 models, " + std::to_string(counts.segments) + " segments, " +
                            std::to_string(counts.waited) + " blocks waited for streams");
}

} // namespace models
