#include "server/pch.hpp"
