// SPDX-License-Identifier: MIT
// Stand-in for XSched's submodule 3rdparty/ipc, with the classes that XSched 1.2 uses: channels
// between processes, by message queues of System V.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <sys/ipc.h>
#include <sys/msg.h>

namespace ipc {

using ChannelKey = unsigned;

enum class NodeType { kSender, kReceiver };

class Buffer {
public:
    explicit Buffer(std::string bytes) : bytes_(std::move(bytes)) {}
    void* Data() { return bytes_.data(); }
    std::size_t Size() const { return bytes_.size(); }

private:
    std::string bytes_;
};

class Channel {
public:
    // Each receive that waits fails.
    static bool Remove(ChannelKey key) {
        const int queue = msgget(system_key(key), 0);
        return queue >= 0 && msgctl(queue, IPC_RMID, nullptr) == 0;
    }
    static key_t system_key(ChannelKey key) { return static_cast<key_t>(0x58530000u + key); }
};

// Sender and receiver of one key meet, whoever comes first.
class Node {
public:
    Node(ChannelKey key, NodeType)
        : key_(key), queue_(msgget(Channel::system_key(key), IPC_CREAT | 0666)) {}

    // Returns false if the message is too long, or the channel was removed.
    bool Send(const void* data, std::size_t size) {
        Message message{1, {}};
        if (size > sizeof message.bytes)
            return false;
        std::memcpy(message.bytes, data, size);
        int sent = 0;
        do
            sent = msgsnd(queue_, &message, size, 0);
        while (sent < 0 && errno == EINTR);
        return sent == 0;
    }

    // Waits for a message. Returns null if the channel was removed.
    std::shared_ptr<Buffer> Receive() {
        Message message{};
        ssize_t size = 0;
        do
            size = msgrcv(queue_, &message, sizeof message.bytes, 0, 0);
        while (size < 0 && errno == EINTR);
        if (size < 0)
            return nullptr;
        return std::make_shared<Buffer>(std::string(message.bytes, static_cast<std::size_t>(size)));
    }

    bool Remove() { return Channel::Remove(key_); }

private:
    struct Message {
        long type;
        char bytes[8192]; // the longest that Linux allows by default
    };
    const ChannelKey key_;
    const int queue_;
};

} // namespace ipc
